/* SPDX-License-Identifier: MIT */
/*
 * Reading what juggle --trace has written, in one pass over the text. Records go into growing
 * arrays, so that memory follows the size of the text, whatever counts are in it. At the end, when
 * the arrays no longer move, the points get their pointers into them.
 */
#include "daemon/trace/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_S_MAX 1e9
#define LATE_NS 100000000 /* as in read_points.c */
#define READ_BYTES ((size_t)1 << 16)

/* ---- The header ---- */

static bool plausible(double number, double max)
{
	return number >= 0 && number <= max;
}

static int read_header(struct trace_parser *p)
{
	struct trace_file *trace = p->trace;
	json_error_t error;
	json_int_t start_ns, margin_ns;
	int period_auto, always, expected;

	/* jansson's own message would quote bad text, with any control characters in it. */
	json_t *header =
		json_loadb(p->field, (size_t)(p->stop - p->field), JSON_REJECT_DUPLICATES, &error);
	p->memory->header = header;
	if (!json_is_object(header))
		return trace_refuse(p, "the header is damaged: no JSON object");
	if (json_unpack_ex(header, &error, 0,
		    "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:F, s:b, s:F, s:I, s:b, s:i}", "version",
		    &trace->version, "command", &trace->command, "policy", &trace->policy,
		    "sampler", &trace->sampler, "balancers", &trace->balancers, "domains",
		    &trace->domains, "start_ns", &start_ns, "period_s", &trace->period_s,
		    "period_auto", &period_auto, "jitter", &trace->jitter, "margin_ns", &margin_ns,
		    "always", &always, "threads", &expected) < 0)
		return trace_refuse(p, "the header is damaged: %.80s", error.text);
	if (start_ns < 0 || (uint64_t)start_ns > TRACE_NUMBER_MAX)
		return trace_refuse(p, "the header is damaged: start_ns");
	if (!plausible(trace->period_s, PERIOD_S_MAX))
		return trace_refuse(p, "the header is damaged: period_s");
	if (!plausible(trace->jitter, 1))
		return trace_refuse(p, "the header is damaged: jitter");
	if (margin_ns < 0 || (uint64_t)margin_ns > TRACE_NUMBER_MAX)
		return trace_refuse(p, "the header is damaged: margin_ns");
	if (expected < 0)
		return trace_refuse(p, "the header is damaged: threads");
	trace->start_ns = p->begin_ns = (uint64_t)start_ns;
	trace->margin_ns = (uint64_t)margin_ns;
	trace->period_auto = period_auto;
	trace->always = always;
	trace->expected = (uint32_t)expected;
	return 0;
}

static int read_first_line(struct trace_parser *p)
{
	size_t bytes = (size_t)(p->end - p->at), magic = strlen(TRACE_MAGIC);
	uint64_t version;

	p->line = 1;
	if (bytes < magic ? memcmp(p->at, TRACE_MAGIC, bytes) != 0
			  : memcmp(p->at, TRACE_MAGIC, magic) != 0)
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
	if (version != TRACE_VERSION) {
		trace_refuse(p, "version %llu of the format, only %d is known",
			(unsigned long long)version, TRACE_VERSION);
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
	struct trace_birth *out = trace_append(&memory->birth, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = birth;
	return 0;
}

static int read_name(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_name name = {0};

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &name.now_ns) ||
		!trace_take_tid(p, &name.tid))
		return trace_refuse(p, "a damaged name record");
	int r = trace_take_rest(p, &name.comm);
	if (r < 0)
		return r;
	struct trace_name *out = trace_append(&memory->name, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = name;
	return 0;
}

/* OS_CPU:DOMAIN:CORE:SPEED:CACHE. Older traces have only two of them, where CPUs are equal, or four. */
static bool take_cpu(struct trace_parser *p, struct trace_cpu *out)
{
	const char *blank = memchr(p->field, ' ', (size_t)(p->stop - p->field));
	const char *end = blank != NULL ? blank : p->stop;
	char mark = blank != NULL ? ' ' : '\n';
	uint64_t core, speed, cache = 0;
	int colons = 0;

	if (!trace_take_cpu(p, ':', &out->os_cpu))
		return false;
	out->core = out->os_cpu;
	out->speed = TRACE_SPEED_MAX;
	out->cache = 0;
	for (const char *at = p->field; at < end; at++)
		colons += *at == ':';
	if (colons == 0)
		return trace_take_domain(p, mark, &out->domain);
	if (!trace_take_domain(p, ':', &out->domain) ||
		!trace_take_number(p, ':', TRACE_OS_CPU_MAX, &core) ||
		!trace_take_number(p, colons > 2 ? ':' : mark, TRACE_SPEED_MAX, &speed) ||
		speed == 0 || (colons > 2 && !trace_take_number(p, mark, TRACE_OS_CPU_MAX, &cache)))
		return false;
	out->core = (int32_t)core;
	out->cache = (int32_t)cache;
	out->speed = (uint32_t)speed;
	return true;
}

static int read_cpus(struct trace_parser *p)
{
	struct trace_array *cpus = &p->memory->cpu;
	uint64_t now_ns;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &now_ns))
		return trace_refuse(p, "a damaged cpus record");
	p->trace->cpu_changes += cpus->count > 0;
	p->cpus_from = cpus->count;
	p->cpus = 0;
	do {
		struct trace_cpu cpu;
		if (!take_cpu(p, &cpu))
			return trace_refuse(p, "a damaged cpus record");
		struct trace_cpu *out = trace_append(cpus, sizeof(*out));
		if (out == NULL)
			return -ENOMEM;
		*out = cpu;
		p->cpus++;
	} while (p->field < p->stop);
	if (p->trace->cpu_changes == 0)
		p->trace->cpus = p->cpus;
	return 0;
}

static int read_team(struct trace_parser *p)
{
	struct trace_team team = {
		.first_cpu = p->cpus_from, .cpus = p->cpus, .first_point = p->memory->point.count};
	uint64_t domains;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &team.now_ns) ||
		!trace_take_domain(p, ' ', &team.domain) ||
		!trace_take_number(p, ' ', TRACE_DOMAINS_MAX, &domains) || domains <= team.domain ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &team.seed))
		return trace_refuse(p, "a damaged team record");
	team.by_work = trace_take_flag(p, "work");
	if (!team.by_work && !trace_take_flag(p, "ns"))
		return trace_refuse(p, "a damaged team record");
	team.tickers = trace_take_flag(p, "tickers");
	team.bells = trace_take_flag(p, "bells");
	team.slices = trace_take_flag(p, "shortens");
	if (p->field < p->stop || p->stop[-1] == ' ')
		return trace_refuse(p, "a damaged team record");
	team.domains = (uint32_t)domains;
	struct trace_team *out = trace_append(&p->memory->team, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = team;
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
		!trace_take_signed(p, ' ', UINT64_C(1) << 31, &rank) || rank > INT32_MAX ||
		!trace_take_number(p, ' ', TRACE_WORKERS_MAX, &workers) || workers == 0)
		return trace_refuse(p, "a damaged subdomains record");
	published.rank = (int32_t)rank;
	published.workers = (uint32_t)workers;
	do {
		if (!trace_take_item(p, workers, &owner) || owner < -1 ||
			owner >= (int64_t)workers || published.subdomains == TRACE_SUBDOMAINS_MAX)
			return trace_refuse(p, "a damaged subdomains record");
		int32_t *next = trace_append(&memory->owner, sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = (int32_t)owner;
		published.subdomains++;
	} while (p->field < p->stop);
	struct trace_subdomains *out = trace_append(&memory->published, sizeof(*out));
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
	struct trace_give *out = trace_append(&memory->give, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = (struct trace_give){.now_ns = now_ns,
		.pid = pid,
		.subdomain = (uint32_t)subdomain,
		.from = (uint32_t)from,
		.to = (uint32_t)to};
	return 0;
}

static int read_holders(struct trace_parser *p)
{
	struct trace_memory *memory = p->memory;
	struct trace_holders held = {0};
	int64_t holder;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &held.now_ns) ||
		!trace_take_tid(p, &held.pid))
		return trace_refuse(p, "a damaged holders record");
	do {
		if (!trace_take_item(p, TRACE_WORKERS_MAX - 1, &holder) || holder < -1 ||
			held.subdomains == TRACE_SUBDOMAINS_MAX)
			return trace_refuse(p, "a damaged holders record");
		int32_t *next = trace_append(&memory->holder, sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = (int32_t)holder;
		held.subdomains++;
	} while (p->field < p->stop);
	struct trace_holders *out = trace_append(&memory->held, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = held;
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
		int64_t *next = trace_append(&memory->update, sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = count;
		sample.subdomains++;
	} while (p->field < p->stop);
	struct trace_updates *out = trace_append(&memory->sample, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = sample;
	return 0;
}

/* Later versions may have other kinds of records. Anything else is damage. */
static int skip_unknown(struct trace_parser *p)
{
	const char *at = p->field;

	while (at < p->stop && *at >= 'a' && *at <= 'z')
		at++;
	if (at == p->field || (at < p->stop && *at != ' '))
		return trace_refuse(p, "not a record");
	if (trace_take_word(p, "thread") || trace_take_word(p, "move") ||
		trace_take_word(p, "decide"))
		return trace_refuse(p, "a record that belongs to no point");
	p->trace->unknown++;
	return 0;
}

static int read_record(struct trace_parser *p)
{
	if (p->ended)
		return trace_refuse(p, "a record after the last one");
	if (trace_take_word(p, "point"))
		return trace_read_point(p);
	if (trace_take_word(p, "birth"))
		return read_birth(p);
	if (trace_take_word(p, "name"))
		return read_name(p);
	if (trace_take_word(p, "cpus"))
		return read_cpus(p);
	if (trace_take_word(p, "team"))
		return read_team(p);
	if (trace_take_word(p, "plb"))
		return read_plb(p);
	if (trace_take_word(p, "subdomains"))
		return read_subdomains(p);
	if (trace_take_word(p, "give"))
		return read_give(p);
	if (trace_take_word(p, "holders"))
		return read_holders(p);
	if (trace_take_word(p, "updates"))
		return read_updates(p);
	if (trace_take_word(p, "dropped")) {
		p->ended = true;
		return trace_take_number(p, '\n', TRACE_NUMBER_MAX, &p->trace->dropped)
			       ? 0
			       : trace_refuse(p, "a damaged dropped record");
	}
	return skip_unknown(p);
}

/* ---- The whole ---- */

static void complete_subdomains(struct trace_file *trace, struct trace_memory *memory)
{
	struct trace_subdomains *published = memory->published.item;
	struct trace_holders *held = memory->held.item;
	struct trace_updates *sample = memory->sample.item;
	const int32_t *owner = memory->owner.item, *holder = memory->holder.item;
	const int64_t *update = memory->update.item;

	for (size_t i = 0; i < memory->published.count; i++) {
		published[i].owner = owner;
		owner += published[i].subdomains;
	}
	for (size_t i = 0; i < memory->held.count; i++) {
		held[i].holder = holder;
		holder += held[i].subdomains;
	}
	for (size_t i = 0; i < memory->sample.count; i++) {
		sample[i].updates = update;
		update += sample[i].subdomains;
	}
	trace->published = published;
	trace->publisheds = memory->published.count;
	trace->give = memory->give.item;
	trace->gives = memory->give.count;
	trace->held = held;
	trace->helds = memory->held.count;
	trace->sample = sample;
	trace->samples = memory->sample.count;
}

/* Take the next `count` items, in order, of an array with those of all points. */
static const void *take(const char **next, size_t count, size_t bytes)
{
	const char *items = count > 0 ? *next : NULL;

	if (count > 0)
		*next += count * bytes;
	return items;
}

static void complete_points(struct trace_memory *memory)
{
	struct trace_point *point = memory->point.item;
	const char *thread = memory->thread.item, *other = memory->other.item;
	const char *newcomer = memory->newcomer.item, *load = memory->load.item;
	const char *move = memory->move.item, *change = memory->change.item;
	const char *handover = memory->handover.item, *neighbours = memory->neighbours.item;
	const char *stolen = memory->stolen.item, *ticked = memory->ticked.item;

	for (size_t i = 0; i < memory->point.count; i++, point++) {
		point->thread = take(&thread, point->threads, sizeof(*point->thread));
		point->other = take(&other, point->others, sizeof(*point->other));
		point->newcomer = take(&newcomer, point->newcomers, sizeof(*point->newcomer));
		point->load = take(&load, point->loads, sizeof(*point->load));
		point->neighbours =
			take(&neighbours, point->neighbour_cpus, sizeof(*point->neighbours));
		point->stolen = take(&stolen, point->stolen_cpus, sizeof(*point->stolen));
		point->ticked = take(&ticked, point->ticked_cpus, sizeof(*point->ticked));
		point->move = take(&move, point->moves, sizeof(*point->move));
		point->change = take(&change, point->changes, sizeof(*point->change));
		point->handover = take(&handover, point->handovers, sizeof(*point->handover));
	}
}

/* Hand out the arrays, which no longer grow. */
static void complete(struct trace_file *trace, struct trace_memory *memory)
{
	complete_points(memory);
	complete_subdomains(trace, memory);
	trace->cpu = memory->cpu.item;
	trace->team = memory->team.item;
	trace->teams = memory->team.count;
	trace->point = memory->point.item;
	trace->points = memory->point.count;
	trace->birth = memory->birth.item;
	trace->births = memory->birth.count;
	trace->name = memory->name.item;
	trace->names = memory->name.count;
	trace->regime = memory->regime.item;
	trace->regimes = memory->regime.count;
}

/* Each record alone may be possible, but not their sum. */
static int check_sum(struct trace_parser *p)
{
	const struct trace_memory *memory = p->memory;

	if (memory->point.count == 0 || memory->cpu.count == 0 || p->trace->cpu_changes > 0)
		return 0;
	if (p->run_ns <= (double)(p->end_ns - p->begin_ns + LATE_NS) * (double)memory->cpu.count)
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
	free(memory->cpu.item);
	free(memory->team.item);
	free(memory->birth.item);
	free(memory->name.item);
	free(memory->regime.item);
	free(memory->point.item);
	free(memory->thread.item);
	free(memory->other.item);
	free(memory->newcomer.item);
	free(memory->move.item);
	free(memory->change.item);
	free(memory->handover.item);
	free(memory->load.item);
	free(memory->neighbours.item);
	free(memory->stolen.item);
	free(memory->ticked.item);
	free(memory->published.item);
	free(memory->give.item);
	free(memory->sample.item);
	free(memory->owner.item);
	free(memory->held.item);
	free(memory->holder.item);
	free(memory->update.item);
	free(memory);
}

/* Read a whole file. One that does not begin like a trace is not read to its end, as it may have
 * none. */
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
		if (*bytes >= strlen(TRACE_MAGIC) &&
			memcmp(*text, TRACE_MAGIC, strlen(TRACE_MAGIC)) != 0)
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
