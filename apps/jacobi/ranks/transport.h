/* SPDX-License-Identifier: MIT */
/*
 * What ranks need of a network: windows that others read without the owner's doing (one-sided),
 * messages that may arrive at any time, and sums over all ranks that nobody waits for. All MPI calls
 * of jacobi are behind it, in transport_mpi.c; tests put ranks of one process behind it.
 *
 * Nothing here blocks unless it says "collective". Of one transport, one thread at a time may be in
 * any of these functions (MPI_THREAD_SERIALIZED): who enters has the lock of ranks.h.
 *
 * Others' gets and messages advance only while this rank is in transport_poll(), on most
 * networks: it has to be called again and again, and no rank may wait for another without it. Errors
 * of the network end the job with the library's message: there are no return codes for them.
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
/* Of how many, as the environment has it. 1: of one, or by no launcher; 0: it does not say. */
uint32_t transport_expected(void);

/* Collective. Join the others. Returns 0; -ENOTSUP (built without MPI, or its library has not
 * the thread support), -EPROTO (another MPI's launcher started this process: the environment
 * tells of several processes, the library of one). *out is to be closed unless an error came. */
int transport_open(struct transport **out);
/* Collective. Accepts NULL. Ends gets and votes that are under way (all ranks have begun the same
 * votes); what was sent and not received is lost. No transport can be opened after it. */
void transport_close(struct transport *t);
/* End all ranks of the job with this exit status, after a message was printed. */
_Noreturn void transport_abort(struct transport *t, int status);

uint32_t transport_rank(const struct transport *t);
uint32_t transport_ranks(const struct transport *t);
uint32_t transport_local_rank(const struct transport *t); /* among those of the same machine */
uint32_t transport_local_ranks(const struct transport *t); /* how many those are */
const char *transport_host(const struct transport *t); /* name of this machine */
const char *transport_library(const struct transport *t); /* as "Open MPI v4.1.4" */

/* Collective, once. The memory that others can read, zeroed, aligned to 64; as many bytes on
 * every rank. It stays the transport's. Returns 0 or -ENOMEM (on all ranks alike). */
int transport_window(struct transport *t, size_t bytes, void **memory);

/* Start to read from the window of a rank (the caller's own, too). `to` is the transport's until
 * transport_done() says so. What the owner writes meanwhile may be seen in part, in any order: the
 * data has to tell. Less than 2 GiB. Returns a ticket, 0 or more, or -EAGAIN when TRANSPORT_GETS_MAX are under way. */
#define TRANSPORT_GETS_MAX 1024
int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to);
/* Has it been read? Then the ticket is no more. To be asked after a transport_poll(). */
bool transport_done(struct transport *t, int ticket);

struct transport_message {
	uint32_t from; /* a rank */
	uint32_t kind; /* the sender's word for it, below 1024 */
	size_t bytes;
	void *data; /* for free(3); NULL when bytes is 0 */
};

/* Send (also to oneself). data comes from malloc(3) and becomes the transport's, which frees it.
 * Messages between two ranks arrive in order. Less than 2 GiB. */
void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes);
/* The next message that has arrived completely; false when there is none. */
bool transport_receive(struct transport *t, struct transport_message *out);
/* Have all messages left, as far as this side can tell? */
bool transport_sent(const struct transport *t);

enum transport_operation {
	TRANSPORT_SUM, /* of double */
	TRANSPORT_MAX, /* of double */
	TRANSPORT_ADD, /* of uint64_t, modulo 2^64 */
};

/* All ranks begin votes in the same order, one at a time. n values of 8 bytes, at most 64, are taken
 * at the call; transport_voted() writes the result, when it has come, over all ranks to `values`. */
void transport_vote(
	struct transport *t, enum transport_operation operation, const void *values, size_t n);
bool transport_voted(struct transport *t, void *values);

/* Advance all that is under way, for others, too. A bounded time; some microseconds. */
void transport_poll(struct transport *t);

#endif
