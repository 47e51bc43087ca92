/* SPDX-License-Identifier: MIT */
/* Creating and removing the segment of a process. */
#include "libprogress/instance.h"
#include "libprogress/policy/plb.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_MIN_NS 100000
#define PERIOD_MAX_NS (UINT64_C(1) << 62) /* 146 years; added to a time, it does not wrap round */
#define RESERVE_BYTES (1 << 20)

uint64_t instance_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool in_range(const struct progress_options *o)
{
	static const uint32_t zeros[sizeof o->reserved / sizeof o->reserved[0]];

	if (o->workers < 1 || o->workers > PROGRESS_WORKERS_MAX || o->subdomains < 1 ||
		o->subdomains > PROGRESS_SUBDOMAINS_MAX || o->balancing > PROGRESS_BALANCE_HYBRID ||
		o->pairs > PROGRESS_PAIRS_MAX ||
		(o->period_ns != 0 && o->period_ns < PERIOD_MIN_NS) ||
		memcmp(o->reserved, zeros, sizeof zeros) != 0)
		return false;
	for (uint32_t s = 0; o->owner != NULL && s < o->subdomains; s++)
		if (o->owner[s] >= o->workers && o->owner[s] != PROGRESS_NOBODY)
			return false;
	return true;
}

/* Remove a segment that a dead process with our pid left behind. One that a living process has locked
 * stays: it belongs to another PID namespace, or a child inherited it before execve(2) made us
 * forget it. Returns 0 when the name is free now. */
static int remove_leftover(const char *name)
{
	struct stat st;
	int error = 0;
	/* O_NONBLOCK: a FIFO that somebody put there must not hold us up. */
	int fd = shm_open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		error = -EPERM;
	else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		error = errno == EWOULDBLOCK ? -EEXIST : -errno;
	else if (shm_unlink(name) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* Reserve all memory now: writing to a page that a full /dev/shm can't provide is a SIGBUS. In
 * pieces, because the kernel starts a piece over after a signal. */
static int reserve(int fd, uint64_t size_bytes)
{
	struct rlimit limit;

	/* Beyond this limit the kernel sends SIGXFSZ, which would end the program. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size_bytes)
		return -EFBIG;
	for (uint64_t at = 0; at < size_bytes;) {
		uint64_t rest = size_bytes - at;
		uint64_t piece = rest < RESERVE_BYTES ? rest : RESERVE_BYTES;
		int error = posix_fallocate(fd, (off_t)at, (off_t)piece);
		if (error == 0)
			at += piece;
		else if (error != EINTR)
			return -error;
	}
	return 0;
}

/* Sets p->fd. Where somebody else has taken the name, the file has none, and readers find it among the
 * files that this process has open. */
static int open_segment(struct progress *p)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
	int error;

	p->fd = shm_open(p->name, flags, 0600);
	if (p->fd >= 0 || errno != EEXIST)
		return p->fd < 0 ? -errno : 0;
	error = remove_leftover(p->name);
	if (error == -EEXIST)
		return error;
	if (error == 0) {
		p->fd = shm_open(p->name, flags, 0600);
		return p->fd < 0 ? -errno : 0;
	}
	p->name[0] = '\0';
	p->fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return p->fd < 0 ? error : 0;
}

static void remove_name(const struct progress *p)
{
	if (p->name[0] != '\0')
		shm_unlink(p->name);
}

/* Sets p->fd and p->header. On an error nothing remains. */
static int map_segment(struct progress *p)
{
	int error = open_segment(p);

	if (error != 0)
		return error;
	/* Children inherit the lock, but execve(2) drops it and leaves the segment behind. */
	error = flock(p->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : reserve(p->fd, p->size_bytes);
	if (error == 0) {
		void *memory =
			mmap(NULL, p->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
		if (memory != MAP_FAILED) {
			p->header = memory;
			return 0;
		}
		error = -errno;
	}
	remove_name(p);
	close(p->fd);
	return error;
}

/* The program runs on with memory of its own, and its threads balance themselves. */
static int map_hidden(struct progress *p, int error)
{
	void *memory = mmap(
		NULL, p->size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	p->header = memory;
	p->hidden = error;
	p->fd = -1;
	return 0;
}

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value != 0 ? value : otherwise;
}

static void fill_in(struct progress *p, const struct progress_options *o)
{
	struct segment_header *h = p->header;
	uint64_t residual;
	double unknown = NAN;

	h->version = SEGMENT_VERSION;
	h->header_bytes = sizeof *h;
	h->size_bytes = p->size_bytes;
	h->workers = p->workers;
	h->subdomains = p->subdomains;
	h->worker_bytes = sizeof(struct segment_worker);
	h->subdomain_bytes = sizeof(struct segment_subdomain);
	h->pid = (uint32_t)p->pid;
	h->rank = o->rank;
	h->created_ns = instance_clock_ns();
	h->balancing = or_default(o->balancing, PROGRESS_BALANCE_HYBRID);
	h->pairs = or_default(o->pairs, POLICY_PLB_DEFAULT_PAIRS);
	h->low = or_default(o->low, POLICY_PLB_DEFAULT_LOW);
	h->high = or_default(o->high, POLICY_PLB_DEFAULT_HIGH);
	h->dead_band = o->dead_band == PROGRESS_DEAD_BAND_NONE
			       ? 0
			       : or_default(o->dead_band, POLICY_PLB_DEFAULT_DEAD_BAND);
	h->bound = o->bound;
	h->hybrid_every = or_default(o->hybrid_every, POLICY_PLB_DEFAULT_HYBRID_EVERY);
	h->period_ns = o->period_ns == 0              ? POLICY_PLB_DEFAULT_PERIOD_NS
		       : o->period_ns > PERIOD_MAX_NS ? PERIOD_MAX_NS
						      : o->period_ns;
	atomic_init(&h->due_ns, h->created_ns + h->period_ns);
	/* Each worker has to look for the subdomains that it starts with. */
	for (uint32_t k = 0; k < p->workers; k++)
		atomic_init(&p->worker[k].dirty, 1);
	memcpy(&residual, &unknown, sizeof residual);
	for (uint32_t s = 0; s < p->subdomains; s++) {
		uint32_t owner = o->owner != NULL
					 ? o->owner[s]
					 : (uint32_t)((uint64_t)s * p->workers / p->subdomains);
		atomic_init(&p->subdomain[s].holder, owner);
		atomic_init(&p->subdomain[s].owner, owner);
		atomic_init(&p->subdomain[s].residual, residual);
	}
	instance_rank_init(p, h);
	p->period_ns = h->period_ns;
	p->balances = h->balancing != PROGRESS_BALANCE_NONE;
	h->magic = SEGMENT_MAGIC;
}

static void free_local(struct progress *p)
{
	for (uint32_t k = 0; p->local != NULL && k < p->workers; k++)
		free(p->local[k].held);
	free(p->local);
	point_deinit(&p->point);
	free(p);
}

/* The process that has a segment now; a forked child may create its own. */
static pid_t has_segment;

int progress_create(const struct progress_options *options, struct progress **out)
{
	if (options == NULL || !in_range(options))
		return -EINVAL;
	struct progress *p = aligned_alloc(SEGMENT_LINE, sizeof *p);
	if (p == NULL)
		return -ENOMEM;
	memset(p, 0, sizeof *p);
	p->workers = options->workers;
	p->subdomains = options->subdomains;
	p->size_bytes = segment_size(p->workers, p->subdomains);
	p->pid = getpid();
	snprintf(p->name, sizeof p->name, "/progress.%u.%d", (unsigned)geteuid(), (int)p->pid);
	p->local = aligned_alloc(SEGMENT_LINE, p->workers * sizeof *p->local);
	if (p->local == NULL) {
		free_local(p);
		return -ENOMEM;
	}
	memset(p->local, 0, p->workers * sizeof *p->local);
	int error = map_segment(p);
	if (error != 0 && !(error == -EEXIST && has_segment == p->pid))
		error = map_hidden(p, error);
	if (error != 0) {
		free_local(p);
		return error;
	}
	char *start = (char *)p->header;
	p->worker = (struct segment_worker *)(start + segment_worker_offset(0));
	p->subdomain =
		(struct segment_subdomain *)(start + segment_subdomain_offset(p->workers, 0));
	fill_in(p, options);
	error = p->balances ? point_init(&p->point, p->header) : 0;
	if (error != 0) {
		progress_close(p);
		return error;
	}
	atomic_store_explicit(&p->header->state, SEGMENT_OPEN, memory_order_release);
	has_segment = p->pid;
	*out = p;
	return 0;
}

int progress_published(const struct progress *p)
{
	return p->hidden;
}

void progress_close(struct progress *p)
{
	if (p == NULL)
		return;
	/* In a forked child, the segment and its name still belong to the parent. */
	if (p->hidden == 0 && getpid() == p->pid) {
		atomic_store_explicit(&p->header->state, SEGMENT_CLOSED, memory_order_release);
		remove_name(p);
	}
	munmap(p->header, p->size_bytes);
	if (p->fd >= 0)
		close(p->fd);
	if (has_segment == p->pid)
		has_segment = 0;
	free_local(p);
}
