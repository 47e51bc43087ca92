/* SPDX-License-Identifier: MIT */
/*
 * What juggle publishes about its work: the segment /dev/shm/juggle.<uid>.<pid>.
 *
 * It is a wire format: fixed widths, and offsets pinned below. Whoever opens it checks magic,
 * version and sizes. The keeper creates the segment; only the balancer writes the live part. Live
 * fields are _Atomic, and each is read and written whole (relaxed), but together they need not be
 * of one moment. The other fields of array elements may change, too: those of a thread when another
 * takes over its slot (its flags are 0 meanwhile), a thread's name, and those of a CPU when the
 * usable CPUs change. A reader may then see a mixture of old and new. Readers copy what they need
 * and trust nothing in it: they clip counts to the sizes of the arrays, and terminate strings.
 * Writers use writer.h, readers reader.h.
 *
 * The keeper writes the report at the end from it, even when the balancer was killed.
 */
#ifndef JUGGLE_TELEMETRY_H
#define JUGGLE_TELEMETRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TELEMETRY_MAGIC UINT64_C(0x656c6767756a0a01) /* "juggle" between two marks */
#define TELEMETRY_VERSION 8
#define TELEMETRY_CPUS 1024
#define TELEMETRY_THREADS 16384
#define TELEMETRY_PROGRESS 1024
#define TELEMETRY_BUCKETS 384
#define TELEMETRY_REASONS 24
#define TELEMETRY_PACES 12
#define TELEMETRY_SITES 32

enum telemetry_state {
	TELEMETRY_STARTING,
	TELEMETRY_RUNNING,
	TELEMETRY_ENDED, /* the balancer ended normally */
	TELEMETRY_LOST, /* the balancer died */
};

enum { /* struct telemetry_thread, flags */
	TELEMETRY_THREAD_USED = 1, /* the slot describes a thread */
	TELEMETRY_THREAD_COMPUTE = 2, /* it computes and is balanced; otherwise it is idle */
	TELEMETRY_THREAD_TOLD = 4, /* told_ns and what follows it are known */
	TELEMETRY_THREAD_ENDED = 8,
};

enum { /* struct telemetry_progress, flags */
	TELEMETRY_PROGRESS_USED = 1, /* the slot describes a segment of libprogress */
	TELEMETRY_PROGRESS_ENDED = 2,
};

struct telemetry_cpu {
	int32_t os_cpu;
	int32_t domain; /* index of the balancing domain */
	/* In thousandths: how fast it is, of the fastest, as far as that is known beforehand; and the
	 * share of its time that the hypervisor took lately. */
	_Atomic uint32_t speed, stolen;
};

struct telemetry_thread {
	_Atomic uint32_t flags;
	_Atomic int32_t os_cpu; /* where the balancer placed it; -1: left to the kernel */
	int32_t tid;
	int32_t pid;
	uint64_t start_ticks;
	char comm[16];
	_Atomic uint64_t progress_ns; /* CPU time since the balancer met it */
	_Atomic uint64_t wait_ns; /* time waiting for a CPU since then */
	_Atomic uint64_t migrations;
	/* The progress that decisions compare. Set to the mean of the others when the thread joins
	 * them; leads and lags fade gradually. */
	_Atomic int64_t balance_ns;
	uint64_t met_ns; /* CLOCK_MONOTONIC */
	/* Where runtimes tell phases: CLOCK_MONOTONIC when that began, and from then to told_until_ns
	 * phases that the thread has ended, elapsed time in waits for others, and CPU time outside
	 * these. */
	uint64_t told_ns;
	_Atomic uint64_t arrivals, waited_ns, useful_ns;
	_Atomic uint64_t told_until_ns;
};

struct telemetry_progress {
	_Atomic uint32_t flags;
	int32_t pid;
	int32_t rank;
	uint32_t workers;
	uint32_t subdomains;
	uint32_t balancing; /* enum progress_balancing */
	_Atomic uint64_t points; /* balancing points that juggle ran */
	_Atomic uint64_t moves; /* subdomains that it moved */
	/* As last read: subdomains that workers hold, and the fewest and the most updates of one. */
	_Atomic uint64_t held, updates_least, updates_most;
};

/* A place in the job's programs where threads wait for each other. Its name is written once. */
struct telemetry_site {
	char name[96];
	_Atomic uint64_t waits, waited_ns;
};

/* Time spent with a period for one cause (enum policy_pace), and what periods those were. */
struct telemetry_pace {
	_Atomic uint64_t time_ns;
	_Atomic uint64_t least_ns, most_ns;
};

struct telemetry {
	/* Written before the segment gets its name, constant afterwards. */
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct telemetry) */
	uint64_t total_bytes;
	uint32_t cpu_bytes; /* sizes of one element of the arrays behind the header */
	uint32_t thread_bytes;
	uint32_t cpu_capacity;
	uint32_t thread_capacity;
	int32_t pid; /* of juggle */
	int32_t attached; /* 1: -p */
	uint64_t start_realtime_ns;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	char command[256];
	char policy[16];
	char sampler[16];
	char balancers[16];
	char domains[16];

	/* Live. */
	_Atomic int32_t job_pid; /* the command, or the process of -p */
	_Atomic uint32_t state; /* enum telemetry_state */
	_Atomic uint32_t regime; /* enum policy_regime */
	_Atomic uint32_t reason; /* enum policy_reason */
	_Atomic uint64_t period_ns; /* the last one to balance with; at first, the option's */
	_Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC of the last balancing point */
	_Atomic uint32_t cpus;
	_Atomic uint32_t threads; /* compute threads now */
	_Atomic uint32_t idle_threads; /* now */
	_Atomic uint32_t threads_most; /* largest number of compute threads at a time */
	_Atomic uint32_t idle_then; /* idle threads when there were last that many */
	_Atomic uint32_t slots; /* thread slots ever used */
	_Atomic uint64_t unlisted; /* threads for which there was no slot */
	_Atomic uint64_t cycles; /* balancing points */
	_Atomic uint64_t migrations;
	_Atomic uint64_t regime_changes;
	_Atomic uint64_t balanced_ns; /* time with threads placed by the balancer, as below */
	_Atomic uint64_t balancer_cpu_ns;
	_Atomic uint64_t cycle_max_ns;
	_Atomic uint64_t cycle_bucket[TELEMETRY_BUCKETS]; /* see telemetry_bucket() */
	/* Likewise for the array of programs: */
	uint32_t progress_bytes;
	uint32_t progress_capacity;
	_Atomic uint32_t progress_slots; /* ever used */
	/* Time in which threads had short slices; and how the time was spent. Of each domain by its part of the CPUs. */
	_Atomic uint32_t short_slices_ms;
	_Atomic uint64_t aside_ns[TELEMETRY_REASONS]; /* by enum policy_reason */
	_Atomic uint64_t balance_ns[TELEMETRY_REASONS];
	struct telemetry_pace pace[TELEMETRY_PACES]; /* by enum policy_pace */
	/* What the last period followed from; 0: unknown. */
	_Atomic uint64_t phase_ns; /* CPU time of a thread from barrier to barrier */
	_Atomic uint64_t point_ns; /* CPU time of a balancing point */
	char speeds[16]; /* where telemetry_cpu.speed comes from */
	/* The control group's quota in thousandths of a CPU (0: none), and for how long the job's
	 * threads were throttled by it. */
	_Atomic uint64_t quota, throttled_ns;
	/* Phases. Constant: why no runtime is asked to tell of them; "": it is. Live: which ones do, a
	 * sum of PHASES_ constants. */
	char untold[116];
	_Atomic uint32_t told;
	/* Where its threads wait: the first places that were found, by the time spent there. */
	_Atomic uint32_t sites;
	uint32_t spare;
	struct telemetry_site site[TELEMETRY_SITES];
	/* struct telemetry_cpu cpu[cpu_capacity]; struct telemetry_thread thread[...];
	 * struct telemetry_progress progress[...]; */
};

_Static_assert(sizeof(struct telemetry_cpu) == 16, "wire format");
_Static_assert(sizeof(struct telemetry_thread) == 120, "wire format");
_Static_assert(offsetof(struct telemetry, command) == 64, "wire format");
_Static_assert(offsetof(struct telemetry, job_pid) == 384, "wire format");
_Static_assert(offsetof(struct telemetry, cycle_bucket) == 496, "wire format");
_Static_assert(sizeof(struct telemetry_progress) == 64, "wire format");
_Static_assert(
	offsetof(struct telemetry, progress_bytes) == 496 + 8 * TELEMETRY_BUCKETS, "wire format");
_Static_assert(offsetof(struct telemetry, aside_ns) == 512 + 8 * TELEMETRY_BUCKETS, "wire format");
_Static_assert(offsetof(struct telemetry, pace) == 896 + 8 * TELEMETRY_BUCKETS, "wire format");
_Static_assert(offsetof(struct telemetry, site) == 1360 + 8 * TELEMETRY_BUCKETS, "wire format");
_Static_assert(sizeof(struct telemetry_site) == 112, "wire format");
_Static_assert(sizeof(struct telemetry) == 1360 + 8 * TELEMETRY_BUCKETS + 112 * TELEMETRY_SITES,
	"wire format");

/* The histogram of the cost of balancing points: buckets of 1/16 of a power of two, exact below 16
 * ns. telemetry_bucket_ns() returns the middle of a bucket. Pure. */
uint32_t telemetry_bucket(uint64_t ns);
uint64_t telemetry_bucket_ns(uint32_t bucket);
/* The quantile `share` (0 to 1) of the histogram; 0 when it is empty. */
uint64_t telemetry_quantile_ns(const struct telemetry *telemetry, double share);

/* The time spent in one regime for one reason. */
struct telemetry_way {
	bool balance;
	uint32_t reason; /* enum policy_reason */
	uint64_t time_ns;
};
enum { TELEMETRY_WAYS = 2 * TELEMETRY_REASONS };
/* All ways in which time was spent, the longest first. Returns their number. */
size_t telemetry_ways(const struct telemetry *telemetry, struct telemetry_way way[TELEMETRY_WAYS]);
/* The time aside for the reason that balancing does not pay: phases are too short, loops hand out their work, or trials
 * have shown it. */
uint64_t telemetry_declined_ns(const struct telemetry *telemetry);

static inline void telemetry_set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

static inline uint64_t telemetry_get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void telemetry_set32(_Atomic uint32_t *field, uint32_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

static inline uint32_t telemetry_get32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void telemetry_add(_Atomic uint64_t *field, uint64_t value)
{
	atomic_fetch_add_explicit(field, value, memory_order_relaxed);
}

#endif
