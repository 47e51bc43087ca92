/* SPDX-License-Identifier: MIT */
/* The terminal, with ncurses; see terminal.h. */
#define NCURSES_WIDECHAR 1
#include "tools/top/terminal.h"

#include "daemon/base/clock.h"
#include "tools/top/view.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <term.h>
#include <termios.h>
#include <ucontext.h>
#include <unistd.h>

#define ESCAPE_DELAY_MS 25
#define SIZE_MAX_CELLS 1000 /* rows or columns: the limit for a terminal, whatever it claims */

struct terminal {
	SCREEN *screen;
	int signals; /* signalfd */
	int ended_by;
	sigset_t before, watched; /* blocked signals before; signals that are read instead */
	chtype style[CANVAS_STYLES];
};

/* ---- Opening and closing ---- */

const char *terminal_lacks(void)
{
	int result;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "a terminal";
	const char *name = getenv("TERM");
	if (name == NULL || name[0] == '\0')
		return "TERM to name the terminal";
	if (setupterm(NULL, STDOUT_FILENO, &result) != OK)
		return "a TERM that is known here";
	bool can = cursor_address != NULL && (clr_eos != NULL || clear_screen != NULL);
	del_curterm(cur_term);
	return can ? NULL : "a terminal whose cursor can be moved, as TERM has to say";
}

static void define_styles(struct terminal *terminal, bool colour)
{
	static const struct {
		short colour; /* -1: the terminal's own */
		attr_t attribute;
	} styles[CANVAS_STYLES] = {
		[CANVAS_PLAIN] = {-1, A_NORMAL},
		[CANVAS_DIM] = {-1, A_NORMAL},
		[CANVAS_BOLD] = {-1, A_BOLD},
		[CANVAS_TITLE] = {-1, A_REVERSE},
		[CANVAS_HEAD] = {COLOR_CYAN, A_BOLD},
		[CANVAS_CHOSEN] = {-1, A_REVERSE},
		[CANVAS_AHEAD] = {COLOR_GREEN, A_NORMAL},
		[CANVAS_BEHIND] = {COLOR_RED, A_BOLD},
		[CANVAS_WARNING] = {COLOR_RED, A_BOLD},
		[CANVAS_LEVEL] = {COLOR_GREEN, A_NORMAL},
		[CANVAS_LEVEL + 1] = {COLOR_CYAN, A_NORMAL},
		[CANVAS_LEVEL + 2] = {COLOR_YELLOW, A_NORMAL},
		[CANVAS_LEVEL + 3] = {COLOR_MAGENTA, A_BOLD},
		[CANVAS_LEVEL + 4] = {COLOR_RED, A_BOLD},
	};

	colour = colour && has_colors() && start_color() == OK && use_default_colors() == OK;
	for (int i = 0; i < CANVAS_STYLES; i++) {
		terminal->style[i] = styles[i].attribute;
		if (!colour || styles[i].colour < 0)
			continue;
		init_pair((short)(i + 1), styles[i].colour, -1);
		terminal->style[i] |= (chtype)COLOR_PAIR(i + 1);
	}
}

static int watch_signals(struct terminal *terminal)
{
	sigset_t *set = &terminal->watched;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGTSTP);
	sigaddset(set, SIGCONT);
	sigaddset(set, SIGWINCH);
	terminal->signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal->signals < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, set, &terminal->before);
	return 0;
}

/* ncurses installs handlers for some signals, which do things that are not safe in a handler. */
static SCREEN *new_screen(void)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
	enum { N = sizeof(handled) / sizeof(*handled) };
	struct sigaction before[N];

	for (int i = 0; i < N; i++)
		sigaction(handled[i], NULL, &before[i]);
	SCREEN *screen = newterm(NULL, stdout, stdin);
	for (int i = 0; i < N; i++)
		sigaction(handled[i], &before[i], NULL);
	return screen;
}

int terminal_open(bool colour, struct terminal **out)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));

	if (terminal == NULL)
		return -ENOMEM;
	int r = watch_signals(terminal);
	if (r < 0) {
		free(terminal);
		return r;
	}
	set_escdelay(ESCAPE_DELAY_MS);
	terminal->screen = new_screen();
	if (terminal->screen == NULL) {
		sigprocmask(SIG_SETMASK, &terminal->before, NULL);
		close(terminal->signals);
		free(terminal);
		return -ENOTTY;
	}
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	define_styles(terminal, colour);
	*out = terminal;
	return 0;
}

static bool takes_output(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
}

/* Resume output of a terminal that is stopped, after Ctrl-S or because nobody reads it. */
static void free_output(void)
{
	tcflow(STDOUT_FILENO, TCOOFF); /* otherwise TCOON does nothing */
	tcflow(STDOUT_FILENO, TCOON);
	tcflush(STDOUT_FILENO, TCOFLUSH);
}

/* For signals that arrive while output is written, which may be stopped. They stay pending, to be
 * read. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	int error = errno;

	(void)info;
	free_output();
	sigaddset(&interrupted->uc_sigmask, number);
	raise(number); /* it stays pending, as it is blocked here and afterwards */
	errno = error;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING = sizeof(ending) / sizeof(*ending) };

/* Let ncurses write; it returns only when all is written. */
static void write_out(int (*write_it)(void))
{
	struct sigaction before[ENDING], handler = {.sa_flags = SA_SIGINFO};
	sigset_t set, blocked;

	handler.sa_sigaction = on_signal;
	sigfillset(&handler.sa_mask);
	sigemptyset(&set);
	for (int i = 0; i < ENDING; i++) {
		sigaction(ending[i], &handler, &before[i]);
		sigaddset(&set, ending[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, &blocked);
	write_it();
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	for (int i = 0; i < ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
}

int terminal_close(struct terminal *terminal)
{
	if (terminal == NULL)
		return 0;
	int ended_by = terminal->ended_by;
	if (!takes_output())
		free_output();
	write_out(endwin);
	delscreen(terminal->screen);
	close(terminal->signals);
	sigprocmask(SIG_SETMASK, &terminal->before, NULL);
	free(terminal);
	return ended_by;
}

/* ---- Showing ---- */

static int limited(int n)
{
	return n < 1 ? 1 : n > SIZE_MAX_CELLS ? SIZE_MAX_CELLS : n;
}

void terminal_size(const struct terminal *terminal, int *rows, int *cols)
{
	struct winsize size;

	(void)terminal;
	*rows = LINES;
	*cols = COLS;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		*rows = size.ws_row;
		*cols = size.ws_col;
	}
	*rows = limited(*rows);
	*cols = limited(*cols);
}

/* A row, in runs of one style. */
static void show_row(
	const struct terminal *terminal, const struct canvas_cell *cell, int row, int cols)
{
	wchar_t run[SIZE_MAX_CELLS];

	for (int col = 0; col < cols;) {
		int first = col, length = 0;
		for (; col < cols && cell[col].style == cell[first].style; col++)
			if (cell[col].ch != 0)
				run[length++] = cell[col].ch;
		attrset((int)terminal->style[cell[first].style]);
		mvaddnwstr(row, first, run, length);
	}
}

void terminal_show(struct terminal *terminal, const struct canvas *canvas)
{
	/* As after Ctrl-S: keep looking at the job, and keep reading keys. */
	if (!takes_output())
		return;
	if (canvas->rows != LINES || canvas->cols != COLS)
		resizeterm(canvas->rows, canvas->cols);
	erase();
	for (int row = 0; row < canvas->rows && row < LINES; row++)
		show_row(terminal, canvas->cell + (size_t)row * (size_t)canvas->cols, row,
			canvas->cols);
	attrset(A_NORMAL);
	wnoutrefresh(stdscr);
	write_out(doupdate);
}

/* ---- Waiting ---- */

static bool in_background(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group > 0 && group != getpgrp();
}

/* Stop, as every program does on Ctrl-Z, but restore the terminal first. While stopped, signals
 * have their default effect. We continue only in the foreground: taking the terminal back in the
 * background would stop us again, this time with signals blocked. */
static void stop(struct terminal *terminal)
{
	def_prog_mode();
	write_out(endwin);
	sigprocmask(SIG_SETMASK, &terminal->before, NULL);
	raise(SIGTSTP);
	while (in_background())
		raise(SIGSTOP);
	sigprocmask(SIG_BLOCK, &terminal->watched, NULL);
	reset_prog_mode();
	clearok(curscr, TRUE);
}

static bool next_signal(struct terminal *terminal, enum terminal_event *out)
{
	struct signalfd_siginfo info;

	if (read(terminal->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	*out = TERMINAL_REDRAW;
	switch ((int)info.ssi_signo) {
	case SIGTSTP:
		stop(terminal);
		break;
	case SIGCONT:
		reset_prog_mode(); /* SIGSTOP gives no chance to restore the terminal first */
		clearok(curscr, TRUE);
		break;
	case SIGWINCH:
		break;
	default:
		terminal->ended_by = (int)info.ssi_signo;
		*out = TERMINAL_END;
		break;
	}
	return true;
}

static uint32_t key_of(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return VIEW_KEY_UP;
	case KEY_DOWN:
		return VIEW_KEY_DOWN;
	case KEY_LEFT:
		return VIEW_KEY_LEFT;
	case KEY_RIGHT:
		return VIEW_KEY_RIGHT;
	case KEY_PPAGE:
		return VIEW_KEY_PAGE_UP;
	case KEY_NPAGE:
		return VIEW_KEY_PAGE_DOWN;
	case KEY_HOME:
		return VIEW_KEY_HOME;
	case KEY_END:
		return VIEW_KEY_END;
	case KEY_ENTER:
		return VIEW_KEY_ENTER;
	case KEY_BACKSPACE:
		return VIEW_KEY_BACKSPACE;
	default:
		return UINT32_MAX;
	}
}

static uint32_t char_of(wint_t key)
{
	switch (key) {
	case L'\r':
	case L'\n':
		return VIEW_KEY_ENTER;
	case 0x7f:
	case 0x08:
		return VIEW_KEY_BACKSPACE;
	case 0x1b:
		return VIEW_KEY_ESCAPE;
	default:
		return (uint32_t)key;
	}
}

static bool next_key(uint32_t *out)
{
	wint_t key;

	for (;;) {
		switch (get_wch(&key)) {
		case KEY_CODE_YES:
			*out = key_of(key);
			if (*out == UINT32_MAX)
				continue; /* it also arrives as KEY_RESIZE */
			return true;
		case OK:
			*out = char_of(key);
			return true;
		default:
			return false;
		}
	}
}

static int left_ms(uint64_t until_ns)
{
	uint64_t now = clock_monotonic_ns();

	if (now >= until_ns)
		return 0;
	uint64_t ms = (until_ns - now + 999999) / 1000000;
	return ms > 1000000 ? 1000000 : (int)ms;
}

enum terminal_event terminal_wait(struct terminal *terminal, uint64_t until_ns, uint32_t *key)
{
	struct pollfd fd[] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = terminal->signals, .events = POLLIN}};
	enum terminal_event event;

	for (;;) {
		if (next_signal(terminal, &event))
			return event;
		/* Check the time first; otherwise a key that is held down would keep us here. */
		int ms = left_ms(until_ns);
		if (ms == 0)
			return TERMINAL_TIME;
		/* Keys may also be in its buffer. */
		if (next_key(key))
			return TERMINAL_KEY;
		if (poll(fd, 2, ms) < 0)
			continue;
		if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL)) {
			terminal->ended_by = SIGHUP;
			return TERMINAL_END;
		}
	}
}
