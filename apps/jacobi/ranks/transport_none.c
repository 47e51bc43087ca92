/* SPDX-License-Identifier: MIT */
/*
 * The network of a build without MPI: it can't be joined, so nothing else here is ever called.
 */
#include "apps/jacobi/ranks/transport.h"

#include <errno.h>
#include <stdlib.h>

int transport_open(struct transport **out)
{
	(void)out;
	return -ENOTSUP;
}

void transport_close(struct transport *t)
{
	(void)t;
}

_Noreturn void transport_abort(struct transport *t, int status)
{
	(void)t;
	exit(status);
}

uint32_t transport_rank(const struct transport *t)
{
	(void)t;
	return 0;
}

uint32_t transport_ranks(const struct transport *t)
{
	(void)t;
	return 1;
}

uint32_t transport_local_rank(const struct transport *t)
{
	(void)t;
	return 0;
}

uint32_t transport_local_ranks(const struct transport *t)
{
	(void)t;
	return 1;
}

const char *transport_host(const struct transport *t)
{
	(void)t;
	return "";
}

const char *transport_library(const struct transport *t)
{
	(void)t;
	return "";
}

int transport_window(struct transport *t, size_t bytes, void **memory)
{
	(void)t, (void)bytes, (void)memory;
	return -ENOMEM;
}

int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to)
{
	(void)t, (void)rank, (void)offset, (void)bytes, (void)to;
	return -EAGAIN;
}

bool transport_done(struct transport *t, int ticket)
{
	(void)t, (void)ticket;
	return false;
}

void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes)
{
	(void)t, (void)rank, (void)kind, (void)bytes;
	free(data);
}

bool transport_receive(struct transport *t, struct transport_message *out)
{
	(void)t, (void)out;
	return false;
}

bool transport_sent(const struct transport *t)
{
	(void)t;
	return true;
}

void transport_vote(
	struct transport *t, enum transport_operation operation, const void *values, size_t n)
{
	(void)t, (void)operation, (void)values, (void)n;
}

bool transport_voted(struct transport *t, void *values)
{
	(void)t, (void)values;
	return false;
}

void transport_poll(struct transport *t)
{
	(void)t;
}
