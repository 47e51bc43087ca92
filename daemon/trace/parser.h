/* SPDX-License-Identifier: MIT */
/*
 * What the files that read traces share: reader.c has the whole and simple records, read_points.c has points,
 * fields.c reads a line field by field. Functions that take a field return whether it was there, and go on
 * behind it.
 */
#ifndef JUGGLE_TRACE_PARSER_H
#define JUGGLE_TRACE_PARSER_H

#include "daemon/trace/reader.h"

#include <jansson.h>

#define TRACE_NUMBER_MAX ((UINT64_C(1) << 62) - 1) /* a sum of two still fits */

/* A string that a record owns. */
struct trace_text {
	struct trace_text *next;
	char bytes[];
};

/* An array that grows. */
struct trace_array {
	void *item;
	size_t count, room;
};

/* What trace_file.memory is. */
struct trace_memory {
	json_t *header;
	struct trace_text *texts;
	struct trace_array cpu, team, birth, regime;
	struct trace_array point;
	/* Of all points: */
	struct trace_array thread, other, newcomer, move, change, handover, load;
	struct trace_array published, give, sample;
	struct trace_array owner; /* of all of `published` */
	struct trace_array update; /* of all of `sample` */
};

/* What the last decision of a domain was. */
struct trace_last {
	uint64_t now_ns;
	bool balance;
	const char *reason; /* NULL: there was none */
};

struct trace_parser {
	const char *at, *end; /* of the text, from the next line on */
	size_t line; /* its number, of the line under way */
	const char *field, *stop; /* of the line under way: the rest of it */
	struct trace_file *trace;
	struct trace_memory *memory;
	struct trace_error *error;
	bool ended; /* nothing may follow */
	size_t cpus_from, cpus; /* of the last `cpus` record, in memory->cpu */
	struct trace_last last[TRACE_DOMAINS_MAX];
	uint64_t begin_ns, end_ns; /* of all: start or first point, last point */
	double run_ns; /* of all threads */
};

/* A point with all its lines: p->field is behind "point ". Returns 0, 1 when the text ends within it,
 * -EBADMSG or -ENOMEM. */
int trace_read_point(struct trace_parser *p);

/* Fill in the error. Returns -EBADMSG. */
int trace_refuse(struct trace_parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One more, of so many bytes. Returns the new element, zeroed, or NULL. */
void *trace_append(struct trace_array *array, size_t bytes);

/* The next line; false when there is no whole one any more. */
bool trace_next_line(struct trace_parser *p);

/* Does the line begin with that word, and a blank? Goes on behind it if so. */
bool trace_take_word(struct trace_parser *p, const char *word);

/* A number from 0 to max, up to the end of the line or to `mark`, which is skipped. */
bool trace_take_number(struct trace_parser *p, char mark, uint64_t max, uint64_t *out);
/* Likewise from -max. */
bool trace_take_signed(struct trace_parser *p, char mark, uint64_t max, int64_t *out);
/* The next of a list: up to a blank, or to the end of the line. */
bool trace_take_item(struct trace_parser *p, uint64_t max, int64_t *out);
/* Does a field "NAME=NUMBER", up to the end of the line or a blank, follow? Goes on behind it if so. */
bool trace_take_named(struct trace_parser *p, const char *name, uint64_t max, uint64_t *out);
/* A thread or process, above 0. */
bool trace_take_tid(struct trace_parser *p, int32_t *out);
bool trace_take_cpu(struct trace_parser *p, char mark, int32_t *out);
/* Or -1. */
bool trace_take_cpu_or_none(struct trace_parser *p, char mark, int32_t *out);
bool trace_take_domain(struct trace_parser *p, char mark, uint32_t *out);

/* The rest of the line, as a string that the trace owns. Returns 0, -EBADMSG or -ENOMEM. */
int trace_take_rest(struct trace_parser *p, const char **out);

#endif
