/* SPDX-License-Identifier: MIT */
/* Creating the telemetry segment, and handing out its slots; see writer.h. */
#include "daemon/telemetry/writer.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS_OFFSET (sizeof(struct telemetry) + TELEMETRY_CPUS * sizeof(struct telemetry_cpu))
#define PROGRESS_OFFSET (THREADS_OFFSET + TELEMETRY_THREADS * sizeof(struct telemetry_thread))
#define TOTAL_BYTES (PROGRESS_OFFSET + TELEMETRY_PROGRESS * sizeof(struct telemetry_progress))

/* Thread slots whose memory is reserved at a time. */
#define BATCH 128

#define FOLDER "/dev/shm"
#define PATH_BYTES 64

static void segment_path(pid_t pid, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, FOLDER "/juggle.%u.%d", (unsigned)getuid(), (int)pid);
}

/* Writing to a page that a full /dev/shm can't provide would be a SIGBUS. Returns 0 or a negative errno. */
static int reserve(int fd, size_t offset, size_t bytes)
{
	return -posix_fallocate(fd, (off_t)offset, (off_t)bytes);
}

/* A file without a name, with its memory reserved, but for the thread slots: few jobs use many, and the
 * command waits for this. Returns a descriptor, or a negative errno. */
static int make_file(void)
{
	struct rlimit limit;

	/* Beyond this limit the kernel sends SIGXFSZ, which would end us. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < TOTAL_BYTES)
		return -EFBIG;
	int fd = open(FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = ftruncate(fd, TOTAL_BYTES) < 0 ? -errno : reserve(fd, 0, THREADS_OFFSET);
	if (r == 0)
		r = reserve(fd, PROGRESS_OFFSET, TOTAL_BYTES - PROGRESS_OFFSET);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static void *map_file(int *fd)
{
	*fd = make_file();
	if (*fd < 0)
		return NULL;
	void *memory = mmap(NULL, TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (memory != MAP_FAILED)
		return memory;
	int error = errno;
	close(*fd);
	*fd = -error;
	return NULL;
}

int telemetry_create(struct telemetry **out, int *fd)
{
	struct telemetry *t = map_file(fd);
	if (t == NULL) {
		t = mmap(NULL, TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
		if (t == MAP_FAILED)
			return -ENOMEM;
	}
	t->version = TELEMETRY_VERSION;
	t->header_bytes = sizeof *t;
	t->total_bytes = TOTAL_BYTES;
	t->cpu_bytes = sizeof(struct telemetry_cpu);
	t->thread_bytes = sizeof(struct telemetry_thread);
	t->cpu_capacity = TELEMETRY_CPUS;
	t->thread_capacity = TELEMETRY_THREADS;
	t->progress_bytes = sizeof(struct telemetry_progress);
	t->progress_capacity = TELEMETRY_PROGRESS;
	t->pid = getpid();
	t->start_realtime_ns = clock_read_ns(CLOCK_REALTIME);
	t->start_ns = clock_monotonic_ns();
	atomic_thread_fence(memory_order_release);
	t->magic = TELEMETRY_MAGIC;
	*out = t;
	return 0;
}

int telemetry_publish(int fd, pid_t keeper)
{
	char path[PATH_BYTES], file[PATH_BYTES];
	int r = 0;

	segment_path(keeper, path);
	/* A leftover of a dead process with that pid: nobody else can own the name. */
	unlink(path);
	snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	/* Another user has the name. */
	if (r == -EEXIST && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return r;
}

void telemetry_unlink(pid_t keeper)
{
	char path[PATH_BYTES];

	segment_path(keeper, path);
	unlink(path);
}

void telemetry_unmap(struct telemetry *telemetry)
{
	munmap(telemetry, TOTAL_BYTES);
}

struct telemetry_cpu *telemetry_cpus(const struct telemetry *telemetry)
{
	return (struct telemetry_cpu *)((char *)telemetry + sizeof *telemetry);
}

struct telemetry_thread *telemetry_threads(const struct telemetry *telemetry)
{
	return (struct telemetry_thread *)(telemetry_cpus(telemetry) + TELEMETRY_CPUS);
}

struct telemetry_progress *telemetry_progress(const struct telemetry *telemetry)
{
	return (struct telemetry_progress *)(telemetry_threads(telemetry) + TELEMETRY_THREADS);
}

/* Can the next slot that was never used be written to? */
static bool has_room(int fd, uint32_t slots)
{
	const size_t bytes = sizeof(struct telemetry_thread);

	if (slots >= TELEMETRY_THREADS)
		return false;
	return fd < 0 || slots % BATCH != 0 ||
	       reserve(fd, THREADS_OFFSET + slots * bytes, BATCH * bytes) == 0;
}

struct telemetry_thread *telemetry_slot(struct telemetry *telemetry, int fd, uint32_t *search)
{
	struct telemetry_thread *threads = telemetry_threads(telemetry);
	uint32_t slots = telemetry_get32(&telemetry->slots);

	if (has_room(fd, slots)) {
		telemetry_set32(&telemetry->slots, slots + 1);
		return &threads[slots];
	}
	if (slots > TELEMETRY_THREADS) /* damaged */
		slots = TELEMETRY_THREADS;
	for (uint32_t tries = 0; tries < slots; tries++) {
		struct telemetry_thread *slot = &threads[(*search)++ % slots];
		if (telemetry_get32(&slot->flags) & TELEMETRY_THREAD_ENDED)
			return slot;
	}
	return NULL;
}

struct telemetry_progress *telemetry_progress_slot(struct telemetry *telemetry)
{
	uint32_t slots = telemetry_get32(&telemetry->progress_slots);

	if (slots >= TELEMETRY_PROGRESS)
		return NULL;
	telemetry_set32(&telemetry->progress_slots, slots + 1);
	return &telemetry_progress(telemetry)[slots];
}

void telemetry_show_site(
	struct telemetry *telemetry, const char *name, uint64_t waits, uint64_t waited_ns)
{
	uint32_t sites = telemetry_get32(&telemetry->sites), i = 0;
	char text[sizeof telemetry->site[0].name];

	snprintf(text, sizeof text, "%s", name);
	while (i < sites && i < TELEMETRY_SITES && strcmp(telemetry->site[i].name, text) != 0)
		i++;
	if (i >= TELEMETRY_SITES)
		return;
	telemetry_set(&telemetry->site[i].waits, waits);
	telemetry_set(&telemetry->site[i].waited_ns, waited_ns);
	if (i < sites)
		return;
	memcpy(telemetry->site[i].name, text, sizeof text);
	atomic_store_explicit(&telemetry->sites, i + 1, memory_order_release);
}
