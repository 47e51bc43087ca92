/* SPDX-License-Identifier: MIT */
/*
 * Reading what juggle --trace has written. One pass over the text, line by line; what comes out is
 * in growing arrays, so that memory follows the size of the text whatever its counts say. Points
 * get their pointers into these arrays at the end, when they do not move any more.
 */
#include "trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "# juggle trace "
#define NUMBER_MAX ((UINT64_C(1) << 62) - 1) /* a sum of two still fits */
#define PERIOD_S_MAX 1e9
#define LATE_NS 100000000 /* CPU time may be told of so late: some ticks, of a loaded machine */
#define READ_BYTES ((size_t)1 << 16)

/* A string that a record owns. */
struct text {
	struct text *next;
	char bytes[];
};

/* What trace_file.memory is. */
struct memory {
	json_t *header;
	struct text *texts;
	struct trace_cpu *cpu;
	struct trace_thread *thread;
	struct trace_move *move;
	struct trace_point *point;
	struct trace_birth *birth;
	struct trace_regime *regime;
	size_t cpus, threads, moves, points, births, regimes;
	size_t cpu_room, thread_room, move_room, point_room, birth_room, regime_room;
};

struct parser {
	const char *at, *end; /* of the text, from the next line on */
	size_t line; /* its number, of the line under way */
	const char *field, *stop; /* of the line under way: the rest of it */
	struct trace_file *trace;
	struct memory *memory;
	struct trace_error *error;
	bool last; /* nothing may follow */
	uint64_t now_ns[TRACE_DOMAINS_MAX]; /* of the last point */
	uint64_t begin_ns, end_ns; /* of all: start or first point, last point */
	double run_ns; /* of all threads */
};

static int refuse(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct parser *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	p->error->line = p->line;
	return -EBADMSG;
}

/* Room for one more in the array that a pointer of any type points to. Returns the new element,
 * zeroed, or NULL. */
static void *append(void *array, size_t *count, size_t *room, size_t bytes)
{
	void *base;

	memcpy(&base, array, sizeof(base));
	if (*count == *room) {
		size_t more = *room > 0 ? 2 * *room : 16;
		base = reallocarray(base, more, bytes);
		if (base == NULL)
			return NULL;
		memcpy(array, &base, sizeof(base));
		*room = more;
	}
	return memset((char *)base + bytes * (*count)++, 0, bytes);
}

/* ---- Fields ---- */

/* The next line; false when there is no whole one any more. */
static bool next_line(struct parser *p)
{
	const char *newline = p->at < p->end ? memchr(p->at, '\n', (size_t)(p->end - p->at)) : NULL;

	if (newline == NULL)
		return false;
	p->line++;
	p->field = p->at;
	p->stop = newline;
	p->at = newline + 1;
	return true;
}

/* Does the line begin with that word, and a blank? Goes on behind it if so. */
static bool take_word(struct parser *p, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(p->stop - p->field) <= bytes || memcmp(p->field, word, bytes) != 0 ||
		p->field[bytes] != ' ')
		return false;
	p->field += bytes + 1;
	return true;
}

/* A number from 0 to max, up to the end of the line or to `mark`, which is skipped. */
static bool take_number(struct parser *p, char mark, uint64_t max, uint64_t *out)
{
	const char *at = p->field;
	uint64_t number = 0;

	for (; at < p->stop && *at >= '0' && *at <= '9'; at++) {
		if (number > NUMBER_MAX / 10)
			return false;
		number = 10 * number + (uint64_t)(*at - '0');
	}
	if (at == p->field || number > max || number > NUMBER_MAX)
		return false;
	if (at < p->stop ? *at != mark : mark != '\n')
		return false;
	p->field = at < p->stop ? at + 1 : at;
	*out = number;
	return true;
}

static bool take_signed(struct parser *p, char mark, uint64_t max, int64_t *out)
{
	bool negative = p->field < p->stop && *p->field == '-';
	uint64_t number;

	p->field += negative;
	if (!take_number(p, mark, max, &number))
		return false;
	*out = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

static bool take_tid(struct parser *p, int32_t *out)
{
	uint64_t number;

	if (!take_number(p, ' ', INT32_MAX, &number) || number == 0)
		return false;
	*out = (int32_t)number;
	return true;
}

static bool take_cpu(struct parser *p, char mark, int32_t *out)
{
	uint64_t number;

	if (!take_number(p, mark, TRACE_OS_CPU_MAX, &number))
		return false;
	*out = (int32_t)number;
	return true;
}

static bool take_domain(struct parser *p, char mark, uint32_t *out)
{
	uint64_t number;

	if (!take_number(p, mark, TRACE_DOMAINS_MAX - 1, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

/* The rest of the line, as a string that the trace owns. Returns 0, -EBADMSG or -ENOMEM. */
static int take_rest(struct parser *p, const char **out)
{
	size_t bytes = (size_t)(p->stop - p->field);

	if (memchr(p->field, '\0', bytes) != NULL)
		return refuse(p, "a NUL character");
	struct text *text = malloc(sizeof(*text) + bytes + 1);
	if (text == NULL)
		return -ENOMEM;
	memcpy(text->bytes, p->field, bytes);
	text->bytes[bytes] = '\0';
	text->next = p->memory->texts;
	p->memory->texts = text;
	*out = text->bytes;
	return 0;
}

/* ---- The header ---- */

static int read_cpus(struct parser *p, json_t *cpus)
{
	struct memory *memory = p->memory;
	json_t *pair;
	size_t i;

	json_array_foreach(cpus, i, pair)
	{
		json_int_t os_cpu, domain;
		struct trace_cpu *cpu;

		if (json_unpack(pair, "[II!]", &os_cpu, &domain) < 0 || os_cpu < 0 ||
			os_cpu > TRACE_OS_CPU_MAX || domain < 0 || domain >= TRACE_DOMAINS_MAX)
			return refuse(p, "the header is damaged: cpus");
		cpu = append(&memory->cpu, &memory->cpus, &memory->cpu_room, sizeof(*cpu));
		if (cpu == NULL)
			return -ENOMEM;
		*cpu = (struct trace_cpu){.os_cpu = (int32_t)os_cpu, .domain = (uint32_t)domain};
	}
	return 0;
}

static int read_header(struct parser *p)
{
	struct trace_file *trace = p->trace;
	json_error_t error;
	json_int_t start_ns;
	json_t *cpus;

	/* What jansson says of bad text would quote it, control characters and all. */
	json_t *header =
		json_loadb(p->field, (size_t)(p->stop - p->field), JSON_REJECT_DUPLICATES, &error);
	p->memory->header = header;
	if (!json_is_object(header))
		return refuse(p, "the header is damaged: no JSON object");
	if (json_unpack_ex(header, &error, 0, "{s:s, s:s, s:s, s:s, s:s, s:I, s:F, s:o}", "version",
		    &trace->version, "command", &trace->command, "policy", &trace->policy,
		    "sampler", &trace->sampler, "balancers", &trace->balancers, "start_ns",
		    &start_ns, "period_s", &trace->period_s, "cpus", &cpus) < 0)
		return refuse(p, "the header is damaged: %.80s", error.text);
	if (start_ns < 0 || (uint64_t)start_ns > NUMBER_MAX)
		return refuse(p, "the header is damaged: start_ns");
	if (!(trace->period_s >= 0 && trace->period_s <= PERIOD_S_MAX))
		return refuse(p, "the header is damaged: period_s");
	if (!json_is_array(cpus))
		return refuse(p, "the header is damaged: cpus");
	trace->start_ns = p->begin_ns = (uint64_t)start_ns;
	return read_cpus(p, cpus);
}

static int read_first_line(struct parser *p)
{
	size_t bytes = (size_t)(p->end - p->at), magic = strlen(MAGIC);
	uint64_t version;

	p->line = 1;
	if (bytes < magic ? memcmp(p->at, MAGIC, bytes) != 0 : memcmp(p->at, MAGIC, magic) != 0)
		return refuse(p, "no trace of juggle --trace");
	p->line = 0;
	if (!next_line(p)) {
		p->line = 1;
		return refuse(p, bytes > 0 ? "the file ends within the header" : "nothing in it");
	}
	p->field += magic;
	if (!take_number(p, ' ', NUMBER_MAX, &version))
		return refuse(p, "no trace of juggle --trace");
	if (version != 1) {
		refuse(p, "version %llu of the format, only 1 is known",
			(unsigned long long)version);
		return -EPROTO;
	}
	return read_header(p);
}

/* ---- Records ---- */

static int read_birth(struct parser *p)
{
	struct memory *memory = p->memory;
	struct trace_birth birth = {0};

	if (!take_number(p, ' ', NUMBER_MAX, &birth.now_ns) || !take_tid(p, &birth.tid) ||
		!take_tid(p, &birth.pid))
		return refuse(p, "a damaged birth record");
	int r = take_rest(p, &birth.comm);
	if (r < 0)
		return r;
	struct trace_birth *out =
		append(&memory->birth, &memory->births, &memory->birth_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = birth;
	return 0;
}

static int read_regime(struct parser *p)
{
	struct memory *memory = p->memory;
	struct trace_regime regime = {0};

	if (!take_number(p, ' ', NUMBER_MAX, &regime.now_ns) ||
		!take_domain(p, ' ', &regime.domain))
		return refuse(p, "a damaged regime record");
	regime.balance = take_word(p, "balance");
	if (!regime.balance && !take_word(p, "aside"))
		return refuse(p, "a damaged regime record");
	int r = take_rest(p, &regime.reason);
	if (r < 0)
		return r;
	struct trace_regime *out =
		append(&memory->regime, &memory->regimes, &memory->regime_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = regime;
	return 0;
}

static int read_thread(struct parser *p, uint64_t now_ns)
{
	struct memory *memory = p->memory;
	struct trace_thread thread = {0};
	int64_t os_cpu;

	if (!take_word(p, "thread"))
		return refuse(p, "a point with fewer threads than it tells");
	if (!take_tid(p, &thread.tid) || !take_signed(p, ' ', TRACE_OS_CPU_MAX, &os_cpu) ||
		os_cpu < -1 || !take_signed(p, ' ', NUMBER_MAX, &thread.progress_ns) ||
		!take_number(p, ' ', NUMBER_MAX, &thread.run_ns) ||
		!take_number(p, ' ', NUMBER_MAX, &thread.wait_ns) || p->stop - p->field != 1 ||
		(*p->field != 'a' && *p->field != 'b'))
		return refuse(p, "a damaged thread record");
	if (thread.run_ns > now_ns - p->begin_ns + LATE_NS)
		return refuse(p, "damaged: more CPU time than has passed");
	p->run_ns += (double)thread.run_ns;
	thread.os_cpu = (int32_t)os_cpu;
	thread.behind = *p->field == 'b';
	struct trace_thread *out =
		append(&memory->thread, &memory->threads, &memory->thread_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = thread;
	return 0;
}

static int read_move(struct parser *p)
{
	struct memory *memory = p->memory;
	struct trace_move move;

	if (!take_word(p, "move"))
		return refuse(p, "a point with fewer moves than it tells");
	if (!take_tid(p, &move.tid) || !take_cpu(p, ' ', &move.from) ||
		!take_cpu(p, '\n', &move.to))
		return refuse(p, "a damaged move record");
	struct trace_move *out =
		append(&memory->move, &memory->moves, &memory->move_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = move;
	return 0;
}

/* A point with all its lines. Returns 1 when the text ends within it. */
static int read_point(struct parser *p)
{
	struct memory *memory = p->memory;
	struct trace_point point = {0};
	uint64_t threads, moves;

	if (!take_number(p, ' ', NUMBER_MAX, &point.now_ns) ||
		!take_domain(p, ' ', &point.domain) ||
		!take_number(p, ' ', NUMBER_MAX, &point.elapsed_ns) ||
		!take_number(p, ' ', NUMBER_MAX, &threads) ||
		!take_number(p, '\n', NUMBER_MAX, &moves))
		return refuse(p, "a damaged point record");
	if (point.now_ns < p->now_ns[point.domain])
		return refuse(p, "a point that is earlier than the one before");
	p->now_ns[point.domain] = point.now_ns;
	p->begin_ns = point.now_ns < p->begin_ns ? point.now_ns : p->begin_ns;
	p->end_ns = point.now_ns > p->end_ns ? point.now_ns : p->end_ns;
	for (uint64_t i = 0; i < threads + moves; i++) {
		if (!next_line(p))
			return 1; /* what was read of it is no point's */
		int r = i < threads ? read_thread(p, point.now_ns) : read_move(p);
		if (r < 0)
			return r;
	}
	point.threads = (size_t)threads;
	point.moves = (size_t)moves;
	struct trace_point *out =
		append(&memory->point, &memory->points, &memory->point_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = point;
	return 0;
}

static int read_cpu_change(struct parser *p)
{
	uint64_t now_ns;
	uint32_t domain;
	int32_t os_cpu;

	if (!take_number(p, ' ', NUMBER_MAX, &now_ns))
		return refuse(p, "a damaged cpus record");
	while (p->field < p->stop)
		if (!take_cpu(p, ':', &os_cpu) ||
			!take_domain(p,
				memchr(p->field, ' ', (size_t)(p->stop - p->field)) ? ' ' : '\n',
				&domain))
			return refuse(p, "a damaged cpus record");
	p->trace->cpu_changes++;
	return 0;
}

static int read_plb(struct parser *p)
{
	uint64_t now_ns, moves;
	int32_t pid;

	if (!take_number(p, ' ', NUMBER_MAX, &now_ns) || !take_tid(p, &pid) ||
		!take_number(p, '\n', NUMBER_MAX, &moves))
		return refuse(p, "a damaged plb record");
	return 0;
}

/* Later versions may have kinds of their own; but anything else is damage. */
static int skip_unknown(struct parser *p)
{
	const char *at = p->field;

	while (at < p->stop && *at >= 'a' && *at <= 'z')
		at++;
	if (at == p->field || (at < p->stop && *at != ' '))
		return refuse(p, "not a record");
	if (take_word(p, "thread") || take_word(p, "move"))
		return refuse(p, "a record that belongs to no point");
	p->trace->unknown++;
	return 0;
}

static int read_record(struct parser *p)
{
	if (p->last)
		return refuse(p, "a record after the last one");
	if (take_word(p, "point"))
		return read_point(p);
	if (take_word(p, "birth"))
		return read_birth(p);
	if (take_word(p, "regime"))
		return read_regime(p);
	if (take_word(p, "cpus"))
		return read_cpu_change(p);
	if (take_word(p, "plb"))
		return read_plb(p);
	if (take_word(p, "dropped")) {
		p->last = true;
		return take_number(p, '\n', NUMBER_MAX, &p->trace->dropped)
			       ? 0
			       : refuse(p, "a damaged dropped record");
	}
	return skip_unknown(p);
}

/* ---- The whole ---- */

/* Arrays have grown to their end: hand them out. */
static void complete(struct trace_file *trace, struct memory *memory)
{
	const struct trace_thread *thread = memory->thread;
	const struct trace_move *move = memory->move;

	for (size_t i = 0; i < memory->points; i++) {
		struct trace_point *point = &memory->point[i];
		if (point->threads > 0) {
			point->thread = thread;
			thread += point->threads;
		}
		if (point->moves > 0) {
			point->move = move;
			move += point->moves;
		}
	}
	trace->cpu = memory->cpu;
	trace->cpus = memory->cpus;
	trace->point = memory->point;
	trace->points = memory->points;
	trace->birth = memory->birth;
	trace->births = memory->births;
	trace->regime = memory->regime;
	trace->regimes = memory->regimes;
}

/* Records by themselves can be possible, and their sum not. */
static int check_sum(struct parser *p)
{
	const struct memory *memory = p->memory;

	if (memory->points == 0 || memory->cpus == 0 || p->trace->cpu_changes > 0)
		return 0;
	if (p->run_ns <= (double)(p->end_ns - p->begin_ns + LATE_NS) * (double)memory->cpus)
		return 0;
	p->line = 0;
	return refuse(p, "damaged: more CPU time than the CPUs had");
}

static int parse(struct parser *p)
{
	int r = read_first_line(p);

	while (r == 0 && next_line(p))
		r = read_record(p);
	p->trace->cut_short = r == 1 || (r == 0 && p->at < p->end);
	return r < 0 ? r : check_sum(p);
}

int trace_parse(struct trace_file *trace, const char *text, size_t bytes, struct trace_error *error)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	struct parser *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	*trace = (struct trace_file){.memory = memory};
	*error = (struct trace_error){0};
	if (memory != NULL && p != NULL) {
		p->at = text;
		p->end = text + bytes;
		p->trace = trace;
		p->memory = memory;
		p->error = error;
		r = parse(p);
	}
	free(p);
	if (r == 0)
		complete(trace, memory);
	else
		trace_file_deinit(trace);
	return r;
}

void trace_file_deinit(struct trace_file *trace)
{
	struct memory *memory = trace->memory;

	*trace = (struct trace_file){0};
	if (memory == NULL)
		return;
	while (memory->texts != NULL) {
		struct text *next = memory->texts->next;
		free(memory->texts);
		memory->texts = next;
	}
	json_decref(memory->header);
	free(memory->cpu);
	free(memory->thread);
	free(memory->move);
	free(memory->point);
	free(memory->birth);
	free(memory->regime);
	free(memory);
}

/* All of a file. What does not begin as a trace is not read to its end, which it may not have. */
static int read_all(int fd, char **text, size_t *bytes)
{
	size_t room = 0;

	for (;;) {
		if (*bytes == room) {
			room = room > 0 ? 2 * room : READ_BYTES;
			char *grown = realloc(*text, room);
			if (grown == NULL)
				return -ENOMEM;
			*text = grown;
		}
		ssize_t n = read(fd, *text + *bytes, room - *bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*bytes += (size_t)n;
		if (*bytes >= strlen(MAGIC) && memcmp(*text, MAGIC, strlen(MAGIC)) != 0)
			return 0;
	}
}

int trace_read(struct trace_file *trace, const char *path, struct trace_error *error)
{
	char *text = NULL;
	size_t bytes = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*trace = (struct trace_file){0};
	*error = (struct trace_error){0};
	if (fd < 0)
		return -errno;
	int r = read_all(fd, &text, &bytes);
	close(fd);
	if (r == 0)
		r = trace_parse(trace, text, bytes, error);
	free(text);
	return r;
}
