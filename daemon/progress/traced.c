/* SPDX-License-Identifier: MIT */
#include "daemon/progress/traced.h"

#include <stdlib.h>

#include "libprogress/policy/plb.h"
#include "libprogress/progress.h"

#define SAMPLE_NS UINT64_C(50000000) /* the shortest time between samples */
#define NUMBER_NS UINT64_C(100000) /* the same for each subdomain */
#define DIGITS 21 /* of the longest number, with the blank before it */

struct progress_trace {
	struct trace *trace;
	pid_t pid;
	int32_t rank;
	uint32_t workers, subdomains;
	bool owners_known; /* by the trace; false again after a dropped record of them */
	bool strayed; /* by the trace, a subdomain has another holder than its owner; or it is not known */
	uint64_t next_ns; /* of the next sample */
	uint32_t *owner; /* as the trace has it; UINT32_MAX: nobody */
	char *text; /* scratch */
};

struct progress_trace *progress_trace_new(
	struct trace *trace, pid_t pid, const struct progress_info *info)
{
	if (trace == NULL || info->subdomains > PROGRESS_TRACE_SUBDOMAINS_MAX)
		return NULL;
	struct progress_trace *p = calloc(1, sizeof *p);
	if (p == NULL)
		return NULL;
	*p = (struct progress_trace){.trace = trace,
		.pid = pid,
		.rank = info->rank,
		.workers = info->workers,
		.subdomains = info->subdomains,
		.owner = calloc(info->subdomains, sizeof *p->owner),
		.text = malloc(info->subdomains * (size_t)DIGITS + 1)};
	if (p->owner == NULL || p->text == NULL) {
		progress_trace_free(p);
		return NULL;
	}
	return p;
}

void progress_trace_free(struct progress_trace *p)
{
	if (p == NULL)
		return;
	free(p->owner);
	free(p->text);
	free(p);
}

void progress_trace_moves(struct progress_trace *p, struct trace *trace, pid_t pid, uint64_t now_ns,
	const struct policy_plb_move *move, uint32_t moves)
{
	if (moves == 0)
		return;
	trace_begin(trace);
	trace_print(trace, "plb %llu %d %u\n", (unsigned long long)now_ns, (int)pid, moves);
	for (uint32_t i = 0; p != NULL && p->owners_known && i < moves; i++) {
		trace_print(trace, "give %llu %d %u %u %u\n", (unsigned long long)now_ns, (int)pid,
			move[i].subdomain, move[i].from, move[i].to);
		p->owner[move[i].subdomain] = move[i].to;
	}
	if (!trace_end(trace) && p != NULL)
		p->owners_known = false;
}

/* A blank and a number, or -1. snprintf() would take as long as all the rest. */
static char *put_number(char *at, bool none, uint64_t number)
{
	char digit[DIGITS];
	int n = 0;

	*at++ = ' ';
	if (none) {
		*at++ = '-';
		number = 1;
	}
	do {
		digit[n++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (n > 0)
		*at++ = digit[--n];
	return at;
}

static void record_owners(
	struct progress_trace *p, uint64_t now_ns, const struct progress_subdomain_view *subdomain)
{
	bool same = p->owners_known;

	for (uint32_t s = 0; s < p->subdomains; s++) {
		same = same && p->owner[s] == subdomain[s].owner;
		p->owner[s] = subdomain[s].owner;
	}
	if (same)
		return;
	char *at = p->text;
	for (uint32_t s = 0; s < p->subdomains; s++)
		at = put_number(at, p->owner[s] == UINT32_MAX, p->owner[s]);
	*at = '\0';
	trace_begin(p->trace);
	trace_print(p->trace, "subdomains %llu %d %d %u%s\n", (unsigned long long)now_ns,
		(int)p->pid, (int)p->rank, p->workers, p->text);
	p->owners_known = trace_end(p->trace);
}

/* Nobody updates a subdomain whose holder has left. One that has not come yet will. */
static uint32_t find_holder(const struct progress_trace *p,
	const struct progress_worker_view *worker, const struct progress_subdomain_view *subdomain)
{
	if (subdomain->holder >= p->workers)
		return PROGRESS_NOBODY;
	const struct progress_worker_view *holder = &worker[subdomain->holder];
	return holder->tid == 0 && holder->iterations > 0 ? PROGRESS_NOBODY : subdomain->holder;
}

/* Returns whether it wrote a record. */
static bool record_holders(struct progress_trace *p, uint64_t now_ns,
	const struct progress_worker_view *worker, const struct progress_subdomain_view *subdomain)
{
	bool stray = false;
	char *at = p->text;

	for (uint32_t s = 0; s < p->subdomains; s++) {
		uint32_t holder = find_holder(p, worker, &subdomain[s]);
		stray = stray || holder != p->owner[s];
		at = put_number(at, holder == PROGRESS_NOBODY, holder);
	}
	*at = '\0';
	if (!stray && !p->strayed)
		return false;
	trace_begin(p->trace);
	trace_print(
		p->trace, "holders %llu %d%s\n", (unsigned long long)now_ns, (int)p->pid, p->text);
	p->strayed = !trace_end(p->trace) || stray;
	return true;
}

void progress_trace_look(struct progress_trace *p, uint64_t now_ns,
	const struct progress_worker_view *worker, const struct progress_subdomain_view *subdomain,
	bool last)
{
	if (p == NULL || (now_ns < p->next_ns && !last))
		return;
	record_owners(p, now_ns, subdomain);
	bool twice = record_holders(p, now_ns, worker, subdomain);
	uint64_t pause_ns = p->subdomains * NUMBER_NS * (twice ? 2 : 1);
	p->next_ns = now_ns + (pause_ns > SAMPLE_NS ? pause_ns : SAMPLE_NS);
	char *at = p->text;
	for (uint32_t s = 0; s < p->subdomains; s++)
		at = put_number(at, subdomain[s].holder == PROGRESS_NOBODY,
			subdomain[s].updates < PROGRESS_TRACE_UPDATES_MAX
				? subdomain[s].updates
				: PROGRESS_TRACE_UPDATES_MAX);
	*at = '\0';
	trace_begin(p->trace);
	trace_print(
		p->trace, "updates %llu %d%s\n", (unsigned long long)now_ns, (int)p->pid, p->text);
	trace_end(p->trace);
}

uint64_t progress_trace_next(const struct progress_trace *p)
{
	return p != NULL ? p->next_ns : UINT64_MAX;
}
