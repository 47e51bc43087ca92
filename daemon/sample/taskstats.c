// SPDX-License-Identifier: MIT
/*
 * Samples from taskstats, over generic netlink; only this file uses libnl.
 *
 * Taskstats needs no descriptor per thread, but CAP_NET_ADMIN. libnl finds the family and opens the
 * socket. Requests and replies use plain system calls, because libnl allocates for each message and
 * sends them one at a time. Here a batch of requests is one sendmsg(), prepared at the start, and
 * its replies take a few recvmmsg(). The kernel answers within the sendmsg(), so that receiving
 * does not wait unless something is wrong.
 */
#include "daemon/base/clock.h"
#include "daemon/sample/back_end.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The replies to a batch must fit the receive buffer that any user may have (rmem_max, 208 KiB,
 * doubled). Each counts as about 2 KiB. */
#define BATCH 64
#define REPLY_BYTES 2048 /* 600 in 2025, and the structure grows */
#define RECEIVE_BUFFER_BYTES (1 << 20)
#define TIMEOUT_NS 20000000

/* One request. All parts are multiples of 4 bytes: no padding. */
struct request {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	struct nlattr attribute;
	uint32_t tid;
};
_Static_assert(sizeof(struct request) == 28, "netlink wants no padding");

struct taskstats_state {
	struct nl_sock *socket;
	uint16_t family;
	uint32_t sequence; /* of the next batch's first request */
	struct request requests[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	struct sockaddr_nl senders[BATCH];
	unsigned char replies[BATCH][REPLY_BYTES];
};

static int from_libnl(int error)
{
	switch (-error) {
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_AGAIN:
		return -ETIMEDOUT;
	case NLE_AF_NOSUPPORT:
	case NLE_PROTO_MISMATCH:
		return -ENOSYS;
	default:
		return -EIO;
	}
}

static void prepare_buffers(struct taskstats_state *state)
{
	for (size_t i = 0; i < BATCH; i++) {
		state->requests[i] = (struct request){
			.header =
				{
					.nlmsg_len = sizeof(struct request),
					.nlmsg_type = state->family,
					.nlmsg_flags = NLM_F_REQUEST,
				},
			.generic = {.cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION},
			.attribute =
				{
					.nla_len = NLA_HDRLEN + sizeof(uint32_t),
					.nla_type = TASKSTATS_CMD_ATTR_PID,
				},
		};
		state->vectors[i] =
			(struct iovec){.iov_base = state->replies[i], .iov_len = REPLY_BYTES};
	}
}

static int connect_socket(struct taskstats_state *state)
{
	const struct timeval timeout = {.tv_usec = TIMEOUT_NS / 1000};

	state->socket = nl_socket_alloc();
	if (state->socket == NULL)
		return -ENOMEM;
	int error = genl_connect(state->socket);
	if (error < 0)
		return from_libnl(error);
	/* Set it before the family is looked up, which must not wait forever either. */
	if (setsockopt(nl_socket_get_fd(state->socket), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		    sizeof(timeout)) != 0)
		return -errno;
	/* If it fails, there is still room for a batch. */
	(void)nl_socket_set_buffer_size(state->socket, RECEIVE_BUFFER_BYTES, 0);

	int family = genl_ctrl_resolve(state->socket, TASKSTATS_GENL_NAME);
	if (family < 0)
		return from_libnl(family);
	state->family = (uint16_t)family;
	return 0;
}

static int send_batch(struct taskstats_state *state, struct sampler_slot *const *slots, size_t n)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct iovec vector = {
		.iov_base = state->requests, .iov_len = n * sizeof(state->requests[0])};
	struct msghdr message = {
		.msg_name = &kernel,
		.msg_namelen = sizeof(kernel),
		.msg_iov = &vector,
		.msg_iovlen = 1,
	};

	for (size_t i = 0; i < n; i++) {
		state->requests[i].header.nlmsg_seq = state->sequence + (uint32_t)i;
		state->requests[i].tid = (uint32_t)slots[i]->tid;
	}
	ssize_t sent;
	do
		sent = sendmsg(nl_socket_get_fd(state->socket), &message, 0);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Receive up to n messages, waiting for the first. Returns how many, or a negative errno. */
static int receive(struct taskstats_state *state, size_t n)
{
	/* The kernel overwrites the lengths of the names, and the flags. */
	for (size_t i = 0; i < n; i++) {
		state->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &state->senders[i],
			.msg_namelen = sizeof(state->senders[i]),
			.msg_iov = &state->vectors[i],
			.msg_iovlen = 1,
		};
	}
	int received = recvmmsg(nl_socket_get_fd(state->socket), state->messages, (unsigned)n,
		MSG_WAITFORONE, NULL);
	return received < 0 ? -errno : received;
}

/* Give a reply to its slot. Returns 1 when it answers one that has no answer yet. */
static size_t deliver(
	struct taskstats_state *state, size_t message, struct sampler_slot *const *slots, size_t n)
{
	struct sample_reply reply;

	/* A message of another sender is not from the kernel; one with another sequence is too
	 * late. */
	if (state->senders[message].nl_pid != 0 ||
		sample_parse_reply(state->replies[message], state->messages[message].msg_len,
			state->family, &reply) != 0)
		return 0;
	uint32_t i = reply.sequence - state->sequence;
	if (i >= n || slots[i]->error != -EINPROGRESS)
		return 0;
	if (reply.error != 0)
		slots[i]->error = reply.error;
	else if (reply.tid != slots[i]->tid)
		slots[i]->error = -EBADMSG;
	else
		sample_store(slots[i], &reply.counts);
	return 1;
}

/* Returns 0 when all were answered (with an error or without), or why they were not. */
static int read_batch(struct taskstats_state *state, struct sampler_slot *const *slots, size_t n,
	uint64_t deadline_ns)
{
	for (size_t i = 0; i < n; i++)
		slots[i]->error = -EINPROGRESS;

	int error = send_batch(state, slots, n);
	size_t answered = 0;
	while (error == 0 && answered < n) {
		int received = receive(state, n - answered);
		for (int m = 0; m < received; m++)
			answered += deliver(state, (size_t)m, slots, n);
		if (received == -EAGAIN || (answered < n && clock_monotonic_ns() > deadline_ns))
			error = -ETIMEDOUT;
		else if (received < 0 && received != -EINTR)
			error = received;
	}
	state->sequence += (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		if (slots[i]->error == -EINPROGRESS)
			slots[i]->error = error;
	return error;
}

static void taskstats_read(void *opaque, struct sampler_slot *const *slots, size_t n)
{
	struct taskstats_state *state = opaque;
	uint64_t deadline_ns = clock_monotonic_ns() + TIMEOUT_NS;
	int error = 0;

	for (size_t done = 0; done < n; done += BATCH) {
		size_t batch = n - done < BATCH ? n - done : BATCH;
		/* After a batch without an answer, don't wait for the next: it would get none
		 * either. */
		if (error == 0)
			error = read_batch(state, slots + done, batch, deadline_ns);
		else
			for (size_t i = 0; i < batch; i++)
				slots[done + i]->error = error;
	}
}

static void taskstats_close(void *opaque)
{
	struct taskstats_state *state = opaque;

	if (state == NULL)
		return;
	nl_socket_free(state->socket);
	free(state);
}

static int taskstats_open(void **out)
{
	struct taskstats_state *state = calloc(1, sizeof(*state));
	struct sampler_slot self = {.pid = getpid(), .tid = (pid_t)syscall(SYS_gettid)};
	struct sampler_slot *slots = &self;

	if (state == NULL)
		return -ENOMEM;
	int error = connect_socket(state);
	if (error == 0) {
		prepare_buffers(state);
		/* Only a request shows whether we may ask, and whether the kernel keeps times.
		 * Reading the clock updates this thread's time, which is therefore not zero. */
		struct timespec cpu_time;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_time);
		taskstats_read(state, &slots, 1);
		error = self.error;
		if (error == 0 && self.run_ns == 0)
			error = -ENOSYS;
	}
	if (error != 0)
		taskstats_close(state);
	else
		*out = state;
	return error;
}

const struct sample_back_end sample_taskstats = {
	.kind = SAMPLER_TASKSTATS,
	.open = taskstats_open,
	.close = taskstats_close,
	.read = taskstats_read,
};
