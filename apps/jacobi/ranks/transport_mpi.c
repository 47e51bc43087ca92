/* SPDX-License-Identifier: MIT */
/*
 * The network by MPI, version 3. It uses one window of MPI_Win_allocate, locked by all from its
 * creation to its end, and only gets with requests: Open MPI 4.1 has faults in dynamic windows, and
 * in operations that read and write at once.
 */
#include "apps/jacobi/ranks/transport.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	RECEIVES_MAX = 64, /* messages that are not received by the caller yet */
	VALUES_MAX = 64, /* of a vote */
	ALIGNMENT = 64, /* of the window */
};

struct transport {
	MPI_Comm comm; /* for our messages only */
	int rank;
	int ranks;
	int local_rank;
	int local_ranks;
	char host[256];
	char library[MPI_MAX_LIBRARY_VERSION_STRING];

	MPI_Win window;
	size_t window_bytes; /* 0: there is none */
	uint64_t *starts; /* by rank: offset in bytes to the aligned part of its window */

	/* Those in flight come first, without gaps: MPI_Testsome() gets only these. */
	MPI_Request get_requests[TRANSPORT_GETS_MAX];
	int get_tickets[TRANSPORT_GETS_MAX];
	int gets;
	int free_tickets[TRANSPORT_GETS_MAX];
	int free_count;
	bool get_done[TRANSPORT_GETS_MAX]; /* by ticket */

	/* In the order of arrival. The request of a complete message is null. */
	MPI_Request receive_requests[RECEIVES_MAX];
	struct transport_message receives[RECEIVES_MAX];
	int receive_count;
	int receives_pending;
	uint64_t received; /* messages, since the beginning */

	MPI_Request *send_requests;
	void **send_data;
	int send_count;
	int send_capacity;
	uint64_t sent;

	MPI_Request vote_request;
	enum { VOTE_NONE, VOTE_BEGUN, VOTE_COUNTED } vote;
	size_t vote_bytes;
	uint64_t vote_values[VALUES_MAX];
	uint64_t vote_result[VALUES_MAX];

	/* Output of MPI_Testsome() that nobody reads. */
	int indices[TRANSPORT_GETS_MAX];
	MPI_Status statuses[TRANSPORT_GETS_MAX];
};

/* For Open MPI, which reads the environment when it starts. What users have set stays. */
static void set_environment(void)
{
	char from = 0, to;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	/* Open MPI assumes that processes may read each other's memory, and fails where a
	 * container's filter of system calls forbids it. */
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1)
		setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
	/* With more ranks than CPUs it yields its CPU whenever nothing has come. Nobody waits
	 * inside it here, and on newer kernels a yield costs a whole time slice. */
	setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
	/* Debian leaves out pt2pt, so that by default there are no windows over TCP. The one of UCX
	 * may hang when its window ends. */
	setenv("OMPI_MCA_osc", "^ucx", 0);
}

/* "MPICH Version:	4.0.2\nMPICH Release date: ..." or "Open MPI v4.1.4, package: ..." */
static void name_library(char *name)
{
	static const char label[] = "Version:";
	int length;

	MPI_Get_library_version(name, &length);
	name[strcspn(name, ",\n")] = '\0';

	char *at = strstr(name, label);
	if (at) {
		const char *number = at + strlen(label);
		number += strspn(number, " \t");
		memmove(at, number, strlen(number) + 1);
	}
}

static _Noreturn void no_memory(struct transport *t, size_t bytes)
{
	fprintf(stderr, "%s: rank %d has no memory for a message of %zu bytes\n",
		program_invocation_short_name, t->rank, bytes);
	transport_abort(t, 1);
}

int transport_open(struct transport **out)
{
	struct transport *t = calloc(1, sizeof(*t));
	uint32_t expected = transport_expected(); /* libraries add to the environment */
	MPI_Comm machine;
	int provided, rc = -ENOTSUP;

	if (!t)
		return -ENOMEM;
	set_environment();
	MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
	if (provided < MPI_THREAD_SERIALIZED)
		goto fail;
	rc = -EPROTO;
	if (t->ranks == 1 && expected > 1)
		goto fail;

	MPI_Comm_dup(MPI_COMM_WORLD, &t->comm);
	MPI_Comm_rank(t->comm, &t->rank);
	MPI_Comm_split_type(t->comm, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &machine);
	MPI_Comm_rank(machine, &t->local_rank);
	MPI_Comm_size(machine, &t->local_ranks);
	MPI_Comm_free(&machine);
	if (gethostname(t->host, sizeof(t->host) - 1) < 0)
		strcpy(t->host, "?");
	name_library(t->library);
	for (int i = 0; i < TRANSPORT_GETS_MAX; i++)
		t->free_tickets[t->free_count++] = TRANSPORT_GETS_MAX - 1 - i;
	*out = t;
	return 0;
fail:
	MPI_Finalize();
	free(t);
	return rc;
}

/* Wait until no message is on its way anywhere: some libraries hang at the end otherwise. */
static void drain(struct transport *t)
{
	struct transport_message message;
	uint64_t balance, in_flight = 1;
	bool counting = false;

	while (in_flight) {
		transport_poll(t);
		while (transport_receive(t, &message))
			free(message.data);
		if (counting) {
			counting = !transport_voted(t, &in_flight);
		} else if (t->gets == 0 && t->send_count == 0 && t->vote != VOTE_BEGUN) {
			t->vote = VOTE_NONE;
			/* Only ranks that have come here take part, and they send no more. */
			balance = t->sent - t->received;
			transport_vote(t, TRANSPORT_ADD, &balance, 1);
			counting = true;
		}
	}
}

void transport_close(struct transport *t)
{
	if (!t)
		return;
	drain(t);
	if (t->window_bytes) {
		MPI_Win_unlock_all(t->window);
		MPI_Win_free(&t->window);
	}
	MPI_Comm_free(&t->comm);
	MPI_Finalize();
	free(t->starts);
	free(t->send_requests);
	free(t->send_data);
	free(t);
}

_Noreturn void transport_abort(struct transport *t, int status)
{
	(void)t;
	MPI_Abort(MPI_COMM_WORLD, status);
	_exit(status);
}

uint32_t transport_rank(const struct transport *t)
{
	return (uint32_t)t->rank;
}

uint32_t transport_ranks(const struct transport *t)
{
	return (uint32_t)t->ranks;
}

uint32_t transport_local_rank(const struct transport *t)
{
	return (uint32_t)t->local_rank;
}

uint32_t transport_local_ranks(const struct transport *t)
{
	return (uint32_t)t->local_ranks;
}

const char *transport_host(const struct transport *t)
{
	return t->host;
}

const char *transport_library(const struct transport *t)
{
	return t->library;
}

/* Do all ranks agree? */
static bool all_agree(const struct transport *t, bool agree)
{
	int mine = agree, all;

	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
	return all;
}

int transport_window(struct transport *t, size_t bytes, void **memory)
{
	uint64_t start;
	char *base;
	int class;

	assert(t->window_bytes == 0);
	/* Libraries align to 16 bytes or more, and may place the parts of ranks side by side. */
	size_t whole = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	/* If one rank had no memory, the others would wait in MPI_Win_allocate() for ever. */
	void *volatile trial = whole > bytes && whole <= PTRDIFF_MAX ? malloc(whole) : NULL;
	t->starts = malloc(sizeof(*t->starts) * (size_t)t->ranks);
	bool possible = all_agree(t, trial && t->starts);
	free(trial);
	if (!possible)
		goto fail;

	MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
	int rc = MPI_Win_allocate((MPI_Aint)whole, 1, MPI_INFO_NULL, t->comm, &base, &t->window);
	MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_ARE_FATAL);
	MPI_Error_class(rc, &class);
	if (class != MPI_SUCCESS && class != MPI_ERR_NO_MEM)
		MPI_Comm_call_errhandler(t->comm, rc);
	if (!all_agree(t, rc == MPI_SUCCESS))
		goto fail;

	start = -(uintptr_t)base % ALIGNMENT;
	MPI_Allgather(&start, 1, MPI_UINT64_T, t->starts, 1, MPI_UINT64_T, t->comm);
	memset(base, 0, whole);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, t->window);
	MPI_Win_sync(t->window);
	MPI_Barrier(t->comm);
	t->window_bytes = bytes;
	*memory = base + start;
	return 0;
fail:
	free(t->starts);
	t->starts = NULL;
	return -ENOMEM;
}

int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to)
{
	assert(rank < (uint32_t)t->ranks);
	assert(bytes <= INT_MAX && offset <= t->window_bytes && bytes <= t->window_bytes - offset);
	if (t->free_count == 0)
		return -EAGAIN;

	int ticket = t->free_tickets[--t->free_count];
	t->get_done[ticket] = false;
	t->get_tickets[t->gets] = ticket;
	MPI_Rget(to, (int)bytes, MPI_BYTE, (int)rank, (MPI_Aint)(t->starts[rank] + offset),
		(int)bytes, MPI_BYTE, t->window, &t->get_requests[t->gets]);
	t->gets++;
	return ticket;
}

bool transport_done(struct transport *t, int ticket)
{
	if (!t->get_done[ticket])
		return false;
	t->get_done[ticket] = false;
	t->free_tickets[t->free_count++] = ticket;
	return true;
}

void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes)
{
	assert(rank < (uint32_t)t->ranks && kind < 1024 && bytes <= INT_MAX);
	if (t->send_count == t->send_capacity) {
		size_t more = 2 * (size_t)t->send_capacity + 16;
		MPI_Request *requests = realloc(t->send_requests, more * sizeof(*t->send_requests));
		if (!requests)
			no_memory(t, bytes);
		t->send_requests = requests;
		void **pointers = realloc(t->send_data, more * sizeof(*t->send_data));
		if (!pointers)
			no_memory(t, bytes);
		t->send_data = pointers;
		t->send_capacity = (int)more;
	}
	t->send_data[t->send_count] = data;
	MPI_Isend(data, (int)bytes, MPI_BYTE, (int)rank, (int)kind, t->comm,
		&t->send_requests[t->send_count]);
	t->send_count++;
	t->sent++;
}

bool transport_sent(const struct transport *t)
{
	return t->send_count == 0;
}

/* Is there an earlier message of the same rank that is not complete yet? A long one may be
 * overtaken. */
static bool overtakes(const struct transport *t, int n)
{
	for (int i = 0; i < n; i++)
		if (t->receives[i].from == t->receives[n].from &&
			t->receive_requests[i] != MPI_REQUEST_NULL)
			return true;
	return false;
}

bool transport_receive(struct transport *t, struct transport_message *out)
{
	for (int i = 0; i < t->receive_count; i++) {
		if (t->receive_requests[i] != MPI_REQUEST_NULL || overtakes(t, i))
			continue;
		*out = t->receives[i];
		t->receive_count--;
		t->received++;
		size_t behind = (size_t)(t->receive_count - i);
		memmove(&t->receives[i], &t->receives[i + 1], behind * sizeof(t->receives[0]));
		memmove(&t->receive_requests[i], &t->receive_requests[i + 1],
			behind * sizeof(MPI_Request));
		return true;
	}
	return false;
}

void transport_vote(
	struct transport *t, enum transport_operation operation, const void *values, size_t n)
{
	assert(t->vote == VOTE_NONE && n <= VALUES_MAX);
	t->vote = VOTE_BEGUN;
	t->vote_bytes = n * sizeof(t->vote_values[0]);
	memcpy(t->vote_values, values, t->vote_bytes);
	MPI_Iallreduce(t->vote_values, t->vote_result, (int)n,
		operation == TRANSPORT_ADD ? MPI_UINT64_T : MPI_DOUBLE,
		operation == TRANSPORT_MAX ? MPI_MAX : MPI_SUM, t->comm, &t->vote_request);
}

bool transport_voted(struct transport *t, void *values)
{
	if (t->vote != VOTE_COUNTED)
		return false;
	memcpy(values, t->vote_result, t->vote_bytes);
	t->vote = VOTE_NONE;
	return true;
}

/* Take the messages that have come. Asking the library also lets it advance everything else. */
static void poll_arrivals(struct transport *t)
{
	while (t->receive_count < RECEIVES_MAX) {
		MPI_Message message;
		MPI_Status status;
		int found, bytes;

		MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &found, &message, &status);
		if (!found)
			return;
		MPI_Get_count(&status, MPI_BYTE, &bytes);

		void *data = bytes ? malloc((size_t)bytes) : NULL;
		if (bytes && !data)
			no_memory(t, (size_t)bytes);
		t->receives[t->receive_count] = (struct transport_message){
			.from = (uint32_t)status.MPI_SOURCE,
			.kind = (uint32_t)status.MPI_TAG,
			.bytes = (size_t)bytes,
			.data = data,
		};
		MPI_Imrecv(data, bytes, MPI_BYTE, &message, &t->receive_requests[t->receive_count]);
		t->receive_count++;
		t->receives_pending++;
	}
}

/* Requests that are complete become null. Returns how many did; perhaps not all are tested at
 * once. */
static int test_some(struct transport *t, MPI_Request *requests, int n)
{
	int done;

	if (n > TRANSPORT_GETS_MAX)
		n = TRANSPORT_GETS_MAX;
	MPI_Testsome(n, requests, &done, t->indices, t->statuses);
	return done == MPI_UNDEFINED ? 0 : done;
}

static void poll_sends(struct transport *t)
{
	int left = 0;

	if (test_some(t, t->send_requests, t->send_count) == 0)
		return;
	for (int i = 0; i < t->send_count; i++) {
		if (t->send_requests[i] == MPI_REQUEST_NULL) {
			free(t->send_data[i]);
			continue;
		}
		t->send_requests[left] = t->send_requests[i];
		t->send_data[left++] = t->send_data[i];
	}
	t->send_count = left;
}

static void poll_gets(struct transport *t)
{
	int left = 0;

	if (test_some(t, t->get_requests, t->gets) == 0)
		return;
	for (int i = 0; i < t->gets; i++) {
		if (t->get_requests[i] == MPI_REQUEST_NULL) {
			t->get_done[t->get_tickets[i]] = true;
			continue;
		}
		t->get_requests[left] = t->get_requests[i];
		t->get_tickets[left++] = t->get_tickets[i];
	}
	t->gets = left;
}

void transport_poll(struct transport *t)
{
	int done;

	/* Show the others what this rank has written to its window since. */
	if (t->window_bytes)
		MPI_Win_sync(t->window);
	poll_arrivals(t);
	if (t->receives_pending)
		t->receives_pending -= test_some(t, t->receive_requests, t->receive_count);
	if (t->send_count)
		poll_sends(t);
	if (t->gets)
		poll_gets(t);
	if (t->vote == VOTE_BEGUN) {
		MPI_Test(&t->vote_request, &done, MPI_STATUS_IGNORE);
		if (done)
			t->vote = VOTE_COUNTED;
	}
}
