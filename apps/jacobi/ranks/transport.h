/* SPDX-License-Identifier: MIT */
/*
 * What ranks need from a network: windows that others read without the owner's help (one-sided),
 * messages that may arrive at any time, and sums over all ranks that nobody waits for. All MPI
 * calls of jacobi are behind it, in transport_mpi.c; tests put ranks of one process behind it.
 *
 * Nothing here blocks unless it says "collective". Only one thread at a time may be in any of these
 * functions for one transport (MPI_THREAD_SERIALIZED): it has the lock of ranks.h.
 *
 * On most networks, other ranks' gets and messages advance only while this rank is in
 * transport_poll(). Call it again and again; no rank may wait for another without it. Errors of the
 * network end the job with the library's message, so there are no return codes for them.
 */
#ifndef JACOBI_TRANSPORT_H
#define JACOBI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport;

/* Was this process started as one of several, by mpirun or a batch system? Looks at the
 * environment only. Also in builds without MPI. */
bool transport_wanted(void);
/* The number of processes, by the environment. 1: one, or no launcher; 0: it does not say. */
uint32_t transport_expected(void);

/* Collective. Join the others. Returns 0; -ENOTSUP (built without MPI, or its library lacks the
 * thread support); -EPROTO (the launcher of another MPI started this process: the environment has
 * several processes, the library only one). Close *out even after -EPROTO. */
int transport_open(struct transport **out);
/* Collective. Accepts NULL. Ends gets and votes that are under way (all ranks must have begun the
 * same votes). Messages that were sent but not received are lost. No transport can be opened after
 * it. */
void transport_close(struct transport *t);
/* End all ranks of the job with this exit status, after a message was printed. */
_Noreturn void transport_abort(struct transport *t, int status);

uint32_t transport_rank(const struct transport *t);
uint32_t transport_ranks(const struct transport *t);
uint32_t transport_local_rank(const struct transport *t); /* among the ranks of this machine */
uint32_t transport_local_ranks(const struct transport *t); /* the ranks of this machine */
const char *transport_host(const struct transport *t); /* name of this machine */
const char *transport_library(const struct transport *t); /* as "Open MPI v4.1.4" */

/* Collective, once. The memory that others can read: zeroed, aligned to 64, with equally many bytes
 * on every rank. The transport owns it. Returns 0, or -ENOMEM on all ranks. */
int transport_window(struct transport *t, size_t bytes, void **memory);

/* Start to read from the window of a rank (the caller's own, too). `to` belongs to the transport
 * until transport_done() returns true. What the owner writes meanwhile may be seen in part, in any
 * order, and the data must show that. Less than 2 GiB. Returns a ticket, 0 or more; or -EAGAIN when
 * TRANSPORT_GETS_MAX are under way. */
#define TRANSPORT_GETS_MAX 1024
int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to);
/* Has it been read? Then the ticket is void. Ask after a transport_poll(). */
bool transport_done(struct transport *t, int ticket);

struct transport_message {
	uint32_t from; /* a rank */
	uint32_t kind; /* chosen by the sender, below 1024 */
	size_t bytes;
	void *data; /* for free(3); NULL when bytes is 0 */
};

/* Send (also to oneself). data comes from malloc(3) and becomes the transport's, which frees it.
 * Messages between two ranks arrive in order. Less than 2 GiB. */
void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes);
/* The next message that has arrived completely; false when there is none. */
bool transport_receive(struct transport *t, struct transport_message *out);
/* Have all messages been sent, as far as this side can know? */
bool transport_sent(const struct transport *t);

enum transport_operation {
	TRANSPORT_SUM, /* of double */
	TRANSPORT_MAX, /* of double */
	TRANSPORT_ADD, /* of uint64_t, modulo 2^64 */
};

/* All ranks begin votes in the same order, one at a time. The call takes n values of 8 bytes, at
 * most 64. transport_voted() writes the result over all ranks to `values` when it is there. */
void transport_vote(
	struct transport *t, enum transport_operation operation, const void *values, size_t n);
bool transport_voted(struct transport *t, void *values);

/* Advance all operations, also those of others. Takes a bounded time, some microseconds. */
void transport_poll(struct transport *t);

#endif
