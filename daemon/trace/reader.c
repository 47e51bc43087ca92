/* SPDX-License-Identifier: MIT */
/*
 * Reading what juggle --trace has written. One pass over the text, line by line; what comes out is
 * in growing arrays, so that memory follows the size of the text whatever its counts say. Points
 * get their pointers into these arrays at the end, when they do not move any more.
 */
#include "daemon/trace/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "# juggle trace "
#define PERIOD_S_MAX 1e9
#define LATE_NS 100000000 /* CPU time may be told of so late: some ticks, of a loaded machine */
#define READ_BYTES ((size_t)1 << 16)

/* ---- The header ---- */

static int read_cpus(struct trace_parser *p, json_t *cpus)
{
	struct trace_memory *memory = p->memory;
	json_t *pair;
	size_t i;

	json_array_foreach(cpus, i, pair)
	{
		json_int_t os_cpu, domain;
		struct trace_cpu *cpu;

		if (json_unpack(pair, "[II!]", &os_cpu, &domain) < 0 || os_cpu < 0 ||
			os_cpu > TRACE_OS_CPU_MAX || domain < 0 || domain >= TRACE_DOMAINS_MAX)
			return trace_refuse(p, "the header is damaged: cpus");
		cpu = trace_append(&memory->cpu, &memory->cpus, &memory->cpu_room, sizeof(*cpu));
		if (cpu == NULL)
			return -ENOMEM;
		*cpu = (struct trace_cpu){.os_cpu = (int32_t)os_cpu, .domain = (uint32_t)domain};
	}
	return 0;
}

static int read_header(struct trace_parser *p)
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
		return trace_refuse(p, "the header is damaged: no JSON object");
	if (json_unpack_ex(header, &error, 0, "{s:s, s:s, s:s, s:s, s:s, s:I, s:F, s:o}", "version",
		    &trace->version, "command", &trace->command, "policy", &trace->policy,
		    "sampler", &trace->sampler, "balancers", &trace->balancers, "start_ns",
		    &start_ns, "period_s", &trace->period_s, "cpus", &cpus) < 0)
		return trace_refuse(p, "the header is damaged: %.80s", error.text);
	if (start_ns < 0 || (uint64_t)start_ns > TRACE_NUMBER_MAX)
		return trace_refuse(p, "the header is damaged: start_ns");
	if (!(trace->period_s >= 0 && trace->period_s <= PERIOD_S_MAX))
		return trace_refuse(p, "the header is damaged: period_s");
	if (!json_is_array(cpus))
		return trace_refuse(p, "the header is damaged: cpus");
	trace->start_ns = p->begin_ns = (uint64_t)start_ns;
	return read_cpus(p, cpus);
}

static int read_first_line(struct trace_parser *p)
{
	size_t bytes = (size_t)(p->end - p->at), magic = strlen(MAGIC);
	uint64_t version;

	p->line = 1;
	if (bytes < magic ? memcmp(p->at, MAGIC, bytes) != 0 : memcmp(p->at, MAGIC, magic) != 0)
		return trace_refuse(p, "no trace of juggle --trace");
	p->line = 0;
	if (!trace_next_line(p)) {
		p->line = 1;
		return trace_refuse(
			p, bytes > 0 ? "the file ends within the header" : "nothing in it");
	}
	p->field += magic;
	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &version))
		return trace_refuse(p, "no trace of juggle --trace");
	if (version != 1) {
		trace_refuse(p, "version %llu of the format, only 1 is known",
			(unsigned long long)version);
		return -EPROTO;
	}
	return read_header(p);
}

/* ---- Records ---- */

static int read_birth(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_birth birth = {0};

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &birth.now_ns) ||
		!trace_take_tid(p, &birth.tid) || !trace_take_tid(p, &birth.pid))
		return trace_refuse(p, "a damaged birth record");
	int r = trace_take_rest(p, &birth.comm);
	if (r < 0)
		return r;
	struct trace_birth *out =
		trace_append(&memory->birth, &memory->births, &memory->birth_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = birth;
	return 0;
}

static int read_regime(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_regime regime = {0};

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &regime.now_ns) ||
		!trace_take_domain(p, ' ', &regime.domain))
		return trace_refuse(p, "a damaged regime record");
	regime.balance = trace_take_word(p, "balance");
	if (!regime.balance && !trace_take_word(p, "aside"))
		return trace_refuse(p, "a damaged regime record");
	int r = trace_take_rest(p, &regime.reason);
	if (r < 0)
		return r;
	struct trace_regime *out =
		trace_append(&memory->regime, &memory->regimes, &memory->regime_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = regime;
	return 0;
}

static int read_thread(struct trace_parser *p, uint64_t now_ns)
{
	struct trace_memory *memory = p->memory;
	struct trace_thread thread = {0};
	int64_t os_cpu;

	if (!trace_take_word(p, "thread"))
		return trace_refuse(p, "a point with fewer threads than it tells");
	if (!trace_take_tid(p, &thread.tid) ||
		!trace_take_signed(p, ' ', TRACE_OS_CPU_MAX, &os_cpu) || os_cpu < -1 ||
		!trace_take_signed(p, ' ', TRACE_NUMBER_MAX, &thread.progress_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.run_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.wait_ns) ||
		p->stop - p->field != 1 || (*p->field != 'a' && *p->field != 'b'))
		return trace_refuse(p, "a damaged thread record");
	if (thread.run_ns > now_ns - p->begin_ns + LATE_NS)
		return trace_refuse(p, "damaged: more CPU time than has passed");
	p->run_ns += (double)thread.run_ns;
	thread.os_cpu = (int32_t)os_cpu;
	thread.behind = *p->field == 'b';
	struct trace_thread *out =
		trace_append(&memory->thread, &memory->threads, &memory->thread_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = thread;
	return 0;
}

static int read_move(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_move move;

	if (!trace_take_word(p, "move"))
		return trace_refuse(p, "a point with fewer moves than it tells");
	if (!trace_take_tid(p, &move.tid) || !trace_take_cpu(p, ' ', &move.from) ||
		!trace_take_cpu(p, '\n', &move.to))
		return trace_refuse(p, "a damaged move record");
	struct trace_move *out =
		trace_append(&memory->move, &memory->moves, &memory->move_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = move;
	return 0;
}

/* A point with all its lines. Returns 1 when the text ends within it. */
static int read_point(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_point point = {0};
	uint64_t threads, moves;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point.now_ns) ||
		!trace_take_domain(p, ' ', &point.domain) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point.elapsed_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &threads) ||
		!trace_take_number(p, '\n', TRACE_NUMBER_MAX, &moves))
		return trace_refuse(p, "a damaged point record");
	if (point.now_ns < p->now_ns[point.domain])
		return trace_refuse(p, "a point that is earlier than the one before");
	p->now_ns[point.domain] = point.now_ns;
	p->begin_ns = point.now_ns < p->begin_ns ? point.now_ns : p->begin_ns;
	p->end_ns = point.now_ns > p->end_ns ? point.now_ns : p->end_ns;
	for (uint64_t i = 0; i < threads + moves; i++) {
		if (!trace_next_line(p))
			return 1; /* what was read of it is no point's */
		int r = i < threads ? read_thread(p, point.now_ns) : read_move(p);
		if (r < 0)
			return r;
	}
	point.threads = (size_t)threads;
	point.moves = (size_t)moves;
	struct trace_point *out =
		trace_append(&memory->point, &memory->points, &memory->point_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = point;
	return 0;
}

static int read_cpu_change(struct trace_parser *p)
{
	uint64_t now_ns;
	uint32_t domain;
	int32_t os_cpu;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &now_ns))
		return trace_refuse(p, "a damaged cpus record");
	while (p->field < p->stop)
		if (!trace_take_cpu(p, ':', &os_cpu) ||
			!trace_take_domain(p,
				memchr(p->field, ' ', (size_t)(p->stop - p->field)) ? ' ' : '\n',
				&domain))
			return trace_refuse(p, "a damaged cpus record");
	p->trace->cpu_changes++;
	return 0;
}

static int read_plb(struct trace_parser *p)
{
	uint64_t now_ns, moves;
	int32_t pid;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &now_ns) || !trace_take_tid(p, &pid) ||
		!trace_take_number(p, '\n', TRACE_NUMBER_MAX, &moves))
		return trace_refuse(p, "a damaged plb record");
	return 0;
}

static int read_subdomains(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_subdomains published = {0};
	uint64_t workers;
	int64_t rank, owner;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &published.now_ns) ||
		!trace_take_tid(p, &published.pid) ||
		!trace_take_signed(p, ' ', INT32_MAX, &rank) ||
		!trace_take_number(p, ' ', TRACE_WORKERS_MAX, &workers) || workers == 0)
		return trace_refuse(p, "a damaged subdomains record");
	published.rank = (int32_t)rank;
	published.workers = (uint32_t)workers;
	do {
		if (!trace_take_item(p, workers - 1, &owner) || owner < -1 ||
			published.subdomains == TRACE_SUBDOMAINS_MAX)
			return trace_refuse(p, "a damaged subdomains record");
		int32_t *next = trace_append(
			&memory->owner, &memory->owners, &memory->owner_room, sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = (int32_t)owner;
		published.subdomains++;
	} while (p->field < p->stop);
	struct trace_subdomains *out = trace_append(
		&memory->published, &memory->publisheds, &memory->published_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = published;
	return 0;
}

static int read_give(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	uint64_t now_ns, subdomain, from, to;
	int32_t pid;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &now_ns) || !trace_take_tid(p, &pid) ||
		!trace_take_number(p, ' ', TRACE_SUBDOMAINS_MAX - 1, &subdomain) ||
		!trace_take_number(p, ' ', TRACE_WORKERS_MAX - 1, &from) ||
		!trace_take_number(p, '\n', TRACE_WORKERS_MAX - 1, &to))
		return trace_refuse(p, "a damaged give record");
	struct trace_give *out =
		trace_append(&memory->give, &memory->gives, &memory->give_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = (struct trace_give){.now_ns = now_ns,
		.pid = pid,
		.subdomain = (uint32_t)subdomain,
		.from = (uint32_t)from,
		.to = (uint32_t)to};
	return 0;
}

static int read_updates(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_updates sample = {0};
	int64_t count;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &sample.now_ns) ||
		!trace_take_tid(p, &sample.pid))
		return trace_refuse(p, "a damaged updates record");
	do {
		if (!trace_take_item(p, TRACE_NUMBER_MAX, &count) || count < -1 ||
			sample.subdomains == TRACE_SUBDOMAINS_MAX)
			return trace_refuse(p, "a damaged updates record");
		int64_t *next = trace_append(
			&memory->count, &memory->counts, &memory->count_room, sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = count;
		sample.subdomains++;
	} while (p->field < p->stop);
	struct trace_updates *out =
		trace_append(&memory->sample, &memory->samples, &memory->sample_room, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = sample;
	return 0;
}

/* Later versions may have kinds of their own; but anything else is damage. */
static int skip_unknown(struct trace_parser *p)
{
	const char *at = p->field;

	while (at < p->stop && *at >= 'a' && *at <= 'z')
		at++;
	if (at == p->field || (at < p->stop && *at != ' '))
		return trace_refuse(p, "not a record");
	if (trace_take_word(p, "thread") || trace_take_word(p, "move"))
		return trace_refuse(p, "a record that belongs to no point");
	p->trace->unknown++;
	return 0;
}

static int read_record(struct trace_parser *p)
{
	if (p->last)
		return trace_refuse(p, "a record after the last one");
	if (trace_take_word(p, "point"))
		return read_point(p);
	if (trace_take_word(p, "birth"))
		return read_birth(p);
	if (trace_take_word(p, "regime"))
		return read_regime(p);
	if (trace_take_word(p, "cpus"))
		return read_cpu_change(p);
	if (trace_take_word(p, "plb"))
		return read_plb(p);
	if (trace_take_word(p, "subdomains"))
		return read_subdomains(p);
	if (trace_take_word(p, "give"))
		return read_give(p);
	if (trace_take_word(p, "updates"))
		return read_updates(p);
	if (trace_take_word(p, "dropped")) {
		p->last = true;
		return trace_take_number(p, '\n', TRACE_NUMBER_MAX, &p->trace->dropped)
			       ? 0
			       : trace_refuse(p, "a damaged dropped record");
	}
	return skip_unknown(p);
}

/* ---- The whole ---- */

static void complete_subdomains(struct trace_file *trace, struct trace_memory *memory)
{
	const int32_t *owner = memory->owner;
	const int64_t *count = memory->count;

	for (size_t i = 0; i < memory->publisheds; i++) {
		memory->published[i].owner = owner;
		owner += memory->published[i].subdomains;
	}
	for (size_t i = 0; i < memory->samples; i++) {
		memory->sample[i].updates = count;
		count += memory->sample[i].subdomains;
	}
	trace->published = memory->published;
	trace->publisheds = memory->publisheds;
	trace->give = memory->give;
	trace->gives = memory->gives;
	trace->sample = memory->sample;
	trace->samples = memory->samples;
}

/* Arrays have grown to their end: hand them out. */
static void complete(struct trace_file *trace, struct trace_memory *memory)
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
	complete_subdomains(trace, memory);
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
static int check_sum(struct trace_parser *p)
{
	const struct trace_memory *memory = p->memory;

	if (memory->points == 0 || memory->cpus == 0 || p->trace->cpu_changes > 0)
		return 0;
	if (p->run_ns <= (double)(p->end_ns - p->begin_ns + LATE_NS) * (double)memory->cpus)
		return 0;
	p->line = 0;
	return trace_refuse(p, "damaged: more CPU time than the CPUs had");
}

static int parse(struct trace_parser *p)
{
	int r = read_first_line(p);

	while (r == 0 && trace_next_line(p))
		r = read_record(p);
	p->trace->cut_short = r == 1 || (r == 0 && p->at < p->end);
	return r < 0 ? r : check_sum(p);
}

int trace_parse(struct trace_file *trace, const char *text, size_t bytes, struct trace_error *error)
{
	struct trace_memory *memory = calloc(1, sizeof(*memory));
	struct trace_parser *p = calloc(1, sizeof(*p));
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
	struct trace_memory *memory = trace->memory;

	*trace = (struct trace_file){0};
	if (memory == NULL)
		return;
	while (memory->texts != NULL) {
		struct trace_text *next = memory->texts->next;
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
	free(memory->published);
	free(memory->give);
	free(memory->sample);
	free(memory->owner);
	free(memory->count);
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
