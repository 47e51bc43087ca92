/* SPDX-License-Identifier: MIT */
/*
 * The workers of a program, while another process of its user writes into their segment. They call
 * what they like in any order. Whatever they find there, they get a list of subdomains that exist.
 */
#undef NDEBUG
#include "libprogress/instance.h"

#include <assert.h>
#include <errno.h>

#include "tests/fuzz/segment_file.h"

#define WORKERS 3
#define SUBDOMAINS 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct progress *open_segment(void)
{
	const struct progress_options options = {
		.workers = WORKERS, .subdomains = SUBDOMAINS, .balancing = PROGRESS_BALANCE_HYBRID};
	struct progress *p;

	assert(progress_create(&options, &p) == 0);
	shm_unlink(p->name); /* a finding would leave it behind */
	return p;
}

/* As progress_create() leaves it, from input to input. */
static struct segment fresh(struct progress *p)
{
	struct segment segment = segment_new(getpid(), WORKERS, SUBDOMAINS);

	memcpy(p->header, segment.content, segment.bytes);
	free(segment.content);
	for (uint32_t w = 0; w < WORKERS; w++) {
		p->local[w].iterating = false;
		p->local[w].count = 0;
		p->worker[w].dirty = 1;
	}
	segment.content = (char *)p->header;
	return segment;
}

static void begin(struct progress *p, uint32_t worker)
{
	const uint32_t *held;
	uint32_t n = progress_begin(p, worker, &held);

	assert(n <= SUBDOMAINS);
	for (uint32_t i = 0; i < n; i++)
		assert(held[i] < SUBDOMAINS && (i == 0 || held[i - 1] < held[i]));
}

static void look(struct progress *p)
{
	for (uint32_t s = 0; s <= SUBDOMAINS; s++) {
		uint32_t holder = progress_holder(p, s);
		assert(holder < WORKERS || holder == PROGRESS_NOBODY);
		(void)progress_iteration(p, s);
		(void)progress_rests(p, s, s / 2);
		(void)progress_updates(p, s);
	}
	(void)progress_spread(p);
}

static void place(struct progress *p, uint32_t worker, uint32_t subdomain)
{
	int r = progress_remove(p, subdomain);

	assert(r == 0 || r == (subdomain < SUBDOMAINS ? -ENOENT : -EINVAL));
	r = progress_insert(p, subdomain, worker < WORKERS ? worker : PROGRESS_NOBODY, worker);
	assert(r == 0 || r == -EINVAL);
}

/* One of them, out of range, too. */
static void act(struct progress *p, struct segment *segment, struct input *input)
{
	uint8_t what = input_byte(input);
	uint32_t worker = what / 8 % (WORKERS + 1), subdomain = what / 32 * 2;

	switch (what % 8) {
	case 0:
		begin(p, worker);
		break;
	case 1:
		progress_update(p, worker, subdomain, what, what);
		break;
	case 2:
		p->header->due_ns = 0; /* else the clock decides */
		assert(progress_balance(p, worker) <= SUBDOMAINS * PROGRESS_PAIRS_MAX);
		break;
	case 3:
		place(p, worker, subdomain);
		break;
	case 4:
		(void)progress_register(p, worker);
		break;
	case 5:
		progress_leave(p, worker);
		break;
	case 6:
		look(p);
		break;
	default:
		segment_damage(segment, input);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct progress *p = NULL;
	struct input input = {data, bytes};

	if (p == NULL)
		p = open_segment();
	struct segment segment = fresh(p);
	while (input.left > 0)
		act(p, &segment, &input);
	return 0;
}
