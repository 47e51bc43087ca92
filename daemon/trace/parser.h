/* SPDX-License-Identifier: MIT */
/*
 * What the files that read traces share. reader.c reads the file and the simple records,
 * read_points.c the points, fields.c the fields of a line. A trace_take_ function returns whether
 * its field is next, and goes past it if so.
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

/* The type of trace_file.memory. */
struct trace_memory {
	json_t *header;
	struct trace_text *texts;
	struct trace_array cpu, team, birth, name, regime;
	struct trace_array point;
	/* Of all points together: */
	struct trace_array thread, other, newcomer, move, change, handover, load, neighbours,
		stolen, ticked;
	struct trace_array published, give, held, sample;
	struct trace_array owner; /* of all of `published` */
	struct trace_array holder; /* of all of `held` */
	struct trace_array update; /* of all of `sample` */
};

/* The last decision of a domain. */
struct trace_last {
	uint64_t now_ns;
	bool balance;
	const char *reason; /* NULL: there was none */
};

struct trace_parser {
	const char *at, *end; /* the text from the next line on */
	size_t line; /* the number of the current line */
	const char *field, *stop; /* the rest of the current line */
	struct trace_file *trace;
	struct trace_memory *memory;
	struct trace_error *error;
	bool ended; /* nothing may follow */
	size_t cpus_from, cpus; /* of the last `cpus` record, in memory->cpu */
	struct trace_last last[TRACE_DOMAINS_MAX];
	uint64_t begin_ns, end_ns; /* of the whole trace: start or first point, last point */
	double run_ns; /* of all threads */
};

/* Read a point with all its lines, from p->field, just past "point ". Returns 0, 1 when the text
 * ends within the point, -EBADMSG or -ENOMEM. */
int trace_read_point(struct trace_parser *p);

/* Fill in the error. Returns -EBADMSG. */
int trace_refuse(struct trace_parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append an element of that size. Returns the new element, zeroed, or NULL. */
void *trace_append(struct trace_array *array, size_t bytes);

/* Go on to the next line. Returns false when no complete one is left. */
bool trace_next_line(struct trace_parser *p);

/* Does the rest of the line begin with this word and a blank? Goes past them if so. */
bool trace_take_word(struct trace_parser *p, const char *word);

/* The same, with a blank or the end of the line. */
bool trace_take_flag(struct trace_parser *p, const char *word);

/* A number from 0 to max, up to the end of the line or to `mark`, which is skipped. */
bool trace_take_number(struct trace_parser *p, char mark, uint64_t max, uint64_t *out);
/* Likewise from -max. */
bool trace_take_signed(struct trace_parser *p, char mark, uint64_t max, int64_t *out);
/* The next number of a list, up to a blank or the end of the line. */
bool trace_take_item(struct trace_parser *p, uint64_t max, int64_t *out);
/* Is a field "NAME=NUMBER" next, up to a blank or the end of the line? Goes past it if so. */
bool trace_take_named(struct trace_parser *p, const char *name, uint64_t max, uint64_t *out);
/* The number of a thread or process, above 0. */
bool trace_take_tid(struct trace_parser *p, int32_t *out);
bool trace_take_cpu(struct trace_parser *p, char mark, int32_t *out);
/* Also takes -1. */
bool trace_take_cpu_or_none(struct trace_parser *p, char mark, int32_t *out);
bool trace_take_domain(struct trace_parser *p, char mark, uint32_t *out);

/* The rest of the line, as a string that the trace owns. Returns 0, -EBADMSG or -ENOMEM. */
int trace_take_rest(struct trace_parser *p, const char **out);

#endif
