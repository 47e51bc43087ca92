/* SPDX-License-Identifier: MIT */
/*
 * transport.h for ranks that are threads of one process, so that communication can be tested
 * without a network, and by sanitizers.
 *
 * It does everything a network may do: gets and messages take any number of polls, and a get copies
 * at any moment in between, one half of it earlier than the other. A seed determines all random
 * choices. Misuse ends the process with a message.
 *
 * With fake_run(), ranks are threads that run one at a time. The turn changes only within
 * transport_poll(), at random. Time is virtual there. So a run can be repeated, and a check may
 * look at all ranks at once.
 */
#ifndef TEST_TRANSPORT_FAKE_H
#define TEST_TRANSPORT_FAKE_H

#include "apps/jacobi/ranks/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_server {
	FAKE_ANYBODY,
	FAKE_READER, /* a network that reads without the owner's process */
	FAKE_OWNER, /* one that reads only when the owner polls */
};

struct fake_options {
	uint32_t ranks;
	uint64_t seed;
	uint32_t delay; /* polls, at most, of each part of a get or of a message */
	bool torn; /* gets may be torn */
	enum fake_server server; /* whose polls advance gets */
	bool busy; /* now and then it reports that too many gets are under way */
	bool parallel; /* fake_run() runs all at once, in real time */
};

struct fake;

struct fake *fake_new(const struct fake_options *options);
/* No get may be under way. */
void fake_free(struct fake *fake);

struct transport *fake_transport(struct fake *fake, uint32_t rank);

/* Run body(transport, arg) for each rank in a thread, until all return. */
void fake_run(struct fake *fake, void (*body)(struct transport *t, void *arg), void *arg);

/* A rank's window; NULL before it has one. */
void *fake_window(const struct fake *fake, uint32_t rank);

/* Visit all messages under way. */
void fake_messages(const struct fake *fake,
	void (*look)(const struct transport_message *message, void *arg), void *arg);

/* A random number from 0 to most. */
uint32_t fake_any(struct fake *fake, uint32_t most);

/* Print what is wrong and the seed, and end the process. */
_Noreturn void fake_fail(const struct fake *fake, const char *what);

#endif
