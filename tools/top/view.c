/* SPDX-License-Identifier: MIT */
/* What the user has chosen to see; see view.h. */
#include "tools/top/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const view_names[VIEW_NAMED] = {"overview", "threads", "cpus", "subdomains"};
const char *const view_sort_names[VIEW_SORTS] = {"lead", "share", "wait", "moves", "cpu", "tid"};

void view_deinit(struct view *view)
{
	free(view->entry);
	*view = (struct view){0};
}

/* ---- Typing a filter ---- */

static void type_char(struct view *view, uint32_t ch)
{
	char bytes[5] = "";
	size_t length = strlen(view->filter);

	if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || ch > 0x10ffff)
		return;
	if (ch < 0x80) {
		bytes[0] = (char)ch;
	} else if (ch < 0x800) {
		bytes[0] = (char)(0xc0 | ch >> 6);
		bytes[1] = (char)(0x80 | (ch & 0x3f));
	} else if (ch < 0x10000) {
		bytes[0] = (char)(0xe0 | ch >> 12);
		bytes[1] = (char)(0x80 | (ch >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (ch & 0x3f));
	} else {
		bytes[0] = (char)(0xf0 | ch >> 18);
		bytes[1] = (char)(0x80 | (ch >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (ch >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (ch & 0x3f));
	}
	if (length + strlen(bytes) < sizeof(view->filter))
		memcpy(view->filter + length, bytes, strlen(bytes) + 1);
}

static void erase_char(struct view *view)
{
	size_t length = strlen(view->filter);

	if (length == 0)
		return;
	do
		length--;
	while (length > 0 && ((unsigned char)view->filter[length] & 0xc0) == 0x80);
	view->filter[length] = '\0';
}

static void type_key(struct view *view, uint32_t key)
{
	switch (key) {
	case VIEW_KEY_ENTER:
		view->typing = false;
		break;
	case VIEW_KEY_ESCAPE:
		memcpy(view->filter, view->kept_filter, sizeof(view->filter));
		view->typing = false;
		break;
	case VIEW_KEY_BACKSPACE:
		erase_char(view);
		break;
	default:
		type_char(view, key);
		break;
	}
	view->scroll[VIEW_THREADS] = view->scroll[VIEW_OVERVIEW] = 0;
}

/* ---- Moving ---- */

static size_t moved(size_t at, size_t page, uint32_t key)
{
	size_t step = key == VIEW_KEY_PAGE_UP || key == VIEW_KEY_PAGE_DOWN ? page : 1;

	switch (key) {
	case VIEW_KEY_UP:
	case VIEW_KEY_PAGE_UP:
		return at > step ? at - step : 0;
	case VIEW_KEY_DOWN:
	case VIEW_KEY_PAGE_DOWN:
		return at + step;
	case VIEW_KEY_HOME:
		return 0;
	default:
		return SIZE_MAX / 2; /* past the end: drawing brings it into range */
	}
}

static void move(struct view *view, uint32_t key)
{
	size_t page = view->page[view->panel];

	if (view->panel != VIEW_JOBS) {
		view->scroll[view->panel] = moved(view->scroll[view->panel], page, key);
		return;
	}
	view->chosen = moved(view->chosen, page, key);
	if (view->chosen >= view->entries)
		view->chosen = view->entries > 0 ? view->entries - 1 : 0;
}

static void show(struct view *view, enum view_panel panel)
{
	if (view->picking && panel != VIEW_HELP && panel != VIEW_JOBS)
		return;
	if ((panel == VIEW_HELP || panel == VIEW_JOBS) && view->panel < VIEW_HELP)
		view->last = view->panel;
	view->panel = panel;
}

static void leave(struct view *view)
{
	if (view->panel == VIEW_HELP || view->panel == VIEW_JOBS)
		show(view, view->picking ? VIEW_JOBS : view->last);
	else
		view->filter[0] = '\0';
}

/* ---- The rest ---- */

/* The next interval in the series 1, 2, 5, 10 ... times the least. */
static uint64_t next_interval(uint64_t ns, bool longer)
{
	static const uint64_t tenths[] = {
		1, 2, 5, 10, 20, 50, 100, 200, 300, 600, 3000, 6000, 36000};
	const size_t n = sizeof(tenths) / sizeof(*tenths);

	if (longer) {
		for (size_t i = 0; i < n; i++)
			if (tenths[i] * VIEW_INTERVAL_MIN_NS > ns)
				return tenths[i] * VIEW_INTERVAL_MIN_NS;
		return VIEW_INTERVAL_MAX_NS;
	}
	for (size_t i = n; i-- > 0;)
		if (tenths[i] * VIEW_INTERVAL_MIN_NS < ns)
			return tenths[i] * VIEW_INTERVAL_MIN_NS;
	return VIEW_INTERVAL_MIN_NS;
}

static void sort_by(struct view *view, enum view_sort sort)
{
	view->sort = sort;
	view->scroll[VIEW_THREADS] = view->scroll[VIEW_OVERVIEW] = 0;
}

static enum view_request other_key(struct view *view, uint32_t key)
{
	switch (key) {
	case '\t':
		return VIEW_NEXT_JOB;
	case 'j':
		return VIEW_LIST_JOBS;
	case VIEW_KEY_ENTER:
		if (view->panel == VIEW_JOBS && view->chosen < view->entries)
			return VIEW_OPEN_JOB;
		return VIEW_NOTHING;
	case VIEW_KEY_ESCAPE:
		leave(view);
		return VIEW_NOTHING;
	case VIEW_KEY_UP:
	case VIEW_KEY_DOWN:
	case VIEW_KEY_PAGE_UP:
	case VIEW_KEY_PAGE_DOWN:
	case VIEW_KEY_HOME:
	case VIEW_KEY_END:
		move(view, key);
		return VIEW_NOTHING;
	default:
		return VIEW_NOTHING;
	}
}

/* Handle keys that choose what is shown. */
static bool panel_key(struct view *view, uint32_t key)
{
	switch (key) {
	case 'o':
		show(view, VIEW_OVERVIEW);
		return true;
	case 't':
		show(view, VIEW_THREADS);
		return true;
	case 'c':
		show(view, VIEW_CPUS);
		return true;
	case 's':
		show(view, VIEW_SUBDOMAINS);
		return true;
	case 'h':
	case '?':
		if (view->panel == VIEW_HELP)
			leave(view);
		else
			show(view, VIEW_HELP);
		return true;
	default:
		return false;
	}
}

enum view_request view_key(struct view *view, uint32_t key)
{
	view->message[0] = '\0';
	if (view->typing) {
		type_key(view, key);
		return VIEW_NOTHING;
	}
	if (panel_key(view, key))
		return VIEW_NOTHING;
	switch (key) {
	case 'q':
		return VIEW_QUIT;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		break;
	case '<':
		sort_by(view, (view->sort + VIEW_SORTS - 1) % VIEW_SORTS);
		break;
	case '>':
		sort_by(view, (view->sort + 1) % VIEW_SORTS);
		break;
	case 'r':
		view->reverse = !view->reverse;
		break;
	case 'g':
		view->by_worker = !view->by_worker;
		break;
	case '+':
	case '=':
		view->interval_ns = next_interval(view->interval_ns, false);
		break;
	case '-':
		view->interval_ns = next_interval(view->interval_ns, true);
		break;
	case '/':
		memcpy(view->kept_filter, view->filter, sizeof(view->filter));
		view->filter[0] = '\0';
		view->typing = true;
		break;
	default:
		return other_key(view, key);
	}
	return VIEW_NOTHING;
}
