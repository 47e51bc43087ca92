/* SPDX-License-Identifier: MIT */
/*
 * Parsing the text of /proc. This is separate from the files that read it, so that tests and
 * fuzzers can feed it text that no kernel would write. A program chooses the names of its threads,
 * and a name may imitate everything that follows it.
 */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h of the kernel; the same in all versions */

struct cursor {
	const char *at;
	const char *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool take_char(struct cursor *cursor, char c)
{
	if (cursor->at == cursor->end || *cursor->at != c)
		return false;
	cursor->at++;
	return true;
}

static bool take_number(struct cursor *cursor, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (cursor->at == cursor->end || !is_digit(*cursor->at))
		return false;
	for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++) {
		uint64_t digit = (uint64_t)(*cursor->at - '0');

		if (value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

static bool take_pid(struct cursor *cursor, pid_t *out)
{
	uint64_t value;

	if (!take_number(cursor, INT_MAX, &value))
		return false;
	*out = (pid_t)value;
	return true;
}

/* Skip fields, and the blanks before them. */
static bool skip_fields(struct cursor *cursor, int count)
{
	uint64_t ignored;

	for (; count > 0; count--) {
		if (!take_char(cursor, ' '))
			return false;
		take_char(cursor, '-');
		if (!take_number(cursor, UINT64_MAX, &ignored))
			return false;
	}
	return true;
}

int proc_parse_stat(const char *text, size_t bytes, struct proc_thread *out)
{
	enum { FIELD_PPID = 4, FIELD_FLAGS = 9, FIELD_START = 22 };
	struct cursor cursor = {text, text + bytes};
	struct proc_thread found = {.pid = out->pid};
	uint64_t flags;
	const char *comm;
	size_t comm_bytes;

	if (!take_pid(&cursor, &found.tid) || found.tid == 0)
		return -EBADMSG;
	if (!take_char(&cursor, ' ') || !take_char(&cursor, '('))
		return -EBADMSG;

	/* The name ends at the last parenthesis, because only numbers follow the state. */
	comm = cursor.at;
	cursor.at = memrchr(comm, ')', (size_t)(cursor.end - comm));
	if (!cursor.at)
		return -EBADMSG;
	comm_bytes = (size_t)(cursor.at - comm);
	if (memchr(comm, '\0', comm_bytes))
		return -EBADMSG;
	if (comm_bytes > sizeof(found.comm) - 1)
		comm_bytes = sizeof(found.comm) - 1;
	memcpy(found.comm, comm, comm_bytes);
	cursor.at++;

	if (!take_char(&cursor, ' ') || cursor.at == cursor.end)
		return -EBADMSG;
	found.state = *cursor.at++;
	if (!((found.state >= 'A' && found.state <= 'Z') ||
		    (found.state >= 'a' && found.state <= 'z')))
		return -EBADMSG;
	if (!take_char(&cursor, ' ') || !take_pid(&cursor, &found.ppid))
		return -EBADMSG;
	if (!skip_fields(&cursor, FIELD_FLAGS - FIELD_PPID - 1) || !take_char(&cursor, ' ') ||
		!take_number(&cursor, UINT32_MAX, &flags))
		return -EBADMSG;
	found.kernel = flags & PF_KTHREAD;
	if (!skip_fields(&cursor, FIELD_START - FIELD_FLAGS - 1) || !take_char(&cursor, ' ') ||
		!take_number(&cursor, UINT64_MAX, &found.start_ticks))
		return -EBADMSG;
	/* A number at the end of the text may have lost its last digits. */
	if (cursor.at == cursor.end || !is_blank(*cursor.at))
		return -EBADMSG;

	*out = found;
	return 0;
}

/* "0.27 0.11 0.07 RUNNING/ALL LAST_PID" */
int proc_parse_load(const char *text, size_t bytes, struct proc_load *out)
{
	enum { AVERAGES = 3 };
	struct cursor cursor = {text, text + bytes};
	struct proc_load found;
	uint64_t running, all;

	for (int field = 0; field < AVERAGES; field++) {
		const char *blank = memchr(cursor.at, ' ', (size_t)(cursor.end - cursor.at));

		if (!blank || blank == cursor.at)
			return -EBADMSG;
		cursor.at = blank + 1;
	}
	if (!take_number(&cursor, INT_MAX, &running) || !take_char(&cursor, '/') ||
		!take_number(&cursor, UINT32_MAX, &all) || !take_char(&cursor, ' '))
		return -EBADMSG;
	/* Some sandboxes always write 0, which is the newest pid of no namespace. */
	if (!take_pid(&cursor, &found.last_pid) || found.last_pid == 0)
		return -EBADMSG;
	if (!take_char(&cursor, '\n') || cursor.at != cursor.end)
		return -EBADMSG;

	found.running = (int)running;
	*out = found;
	return 0;
}

ssize_t proc_parse_pids(const char *text, size_t bytes, pid_t *out, size_t max)
{
	struct cursor cursor = {text, text + bytes};
	size_t n = 0;

	for (;;) {
		pid_t pid;

		while (cursor.at < cursor.end && is_blank(*cursor.at))
			cursor.at++;
		if (cursor.at == cursor.end)
			return (ssize_t)n;
		if (!take_pid(&cursor, &pid) || pid == 0)
			return -EBADMSG;
		if (cursor.at < cursor.end && !is_blank(*cursor.at))
			return -EBADMSG;
		if (n < max)
			out[n] = pid;
		n++;
	}
}
