/* SPDX-License-Identifier: MIT */
/*
 * What reads a line of a trace, field by field: the parts of trace_reader.c that know nothing of
 * records. The functions that take a field return whether it was there, and go on behind it.
 */
#ifndef TRACE_PARSER_H
#define TRACE_PARSER_H

#include "daemon/trace/reader.h"

#include <jansson.h>

#define TRACE_NUMBER_MAX ((UINT64_C(1) << 62) - 1) /* a sum of two still fits */

/* A string that a record owns. */
struct trace_text {
	struct trace_text *next;
	char bytes[];
};

/* What trace_file.memory is. */
struct trace_memory {
	json_t *header;
	struct trace_text *texts;
	struct trace_cpu *cpu;
	struct trace_thread *thread;
	struct trace_move *move;
	struct trace_point *point;
	struct trace_birth *birth;
	struct trace_regime *regime;
	struct trace_subdomains *published;
	struct trace_give *give;
	struct trace_updates *sample;
	int32_t *owner; /* of all of `published` */
	int64_t *count; /* of all of `sample` */
	size_t cpus, threads, moves, points, births, regimes, publisheds, gives, samples, owners,
		counts;
	size_t cpu_room, thread_room, move_room, point_room, birth_room, regime_room;
	size_t published_room, give_room, sample_room, owner_room, count_room;
};

struct trace_parser {
	const char *at, *end; /* of the text, from the next line on */
	size_t line; /* its number, of the line under way */
	const char *field, *stop; /* of the line under way: the rest of it */
	struct trace_file *trace;
	struct trace_memory *memory;
	struct trace_error *error;
	bool last; /* nothing may follow */
	uint64_t now_ns[TRACE_DOMAINS_MAX]; /* of the last point */
	uint64_t begin_ns, end_ns; /* of all: start or first point, last point */
	double run_ns; /* of all threads */
};

/* Fill in the error. Returns -EBADMSG. */
int trace_refuse(struct trace_parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Room for one more in the array that a pointer of any type points to. Returns the new element,
 * zeroed, or NULL. */
void *trace_append(void *array, size_t *count, size_t *room, size_t bytes);

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
/* A thread or process, above 0. */
bool trace_take_tid(struct trace_parser *p, int32_t *out);
bool trace_take_cpu(struct trace_parser *p, char mark, int32_t *out);
bool trace_take_domain(struct trace_parser *p, char mark, uint32_t *out);

/* The rest of the line, as a string that the trace owns. Returns 0, -EBADMSG or -ENOMEM. */
int trace_take_rest(struct trace_parser *p, const char **out);

#endif
