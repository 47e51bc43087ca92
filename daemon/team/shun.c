/* SPDX-License-Identifier: MIT */
#include "daemon/team/shun.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/proc/proc.h"

#define LATE_NS UINT64_C(5000000) /* more than a tick */
#define AWAKE_NS UINT64_C(100000000) /* hardly any step takes so long */
#define TAKEN_NS UINT64_C(100000000) /* what one may have to wait for a CPU that was taken */
#define SHUN_NS UINT64_C(10000000000)
#define NOW_NS 1 /* a time that has passed; as an interval, the shortest */

/*
 * The lock is held for a few instructions only, and never while a mask is set. A thread that sets its own mask may have
 * to wait on the CPU to which it comes, and one that is moved may come to the mover's CPU at once; the others would then
 * wait for the lock.
 */

static struct cpuset mask_without(const struct shun *shun, int os_cpu)
{
	struct cpuset mask = shun->mask;

	cpuset_remove(&mask, os_cpu);
	return mask;
}

static bool is_only(const struct shun *shun, int os_cpu)
{
	struct cpuset mask = mask_without(shun, os_cpu);

	return cpuset_count(&mask) == 0;
}

static int shunned(struct shun *shun)
{
	pthread_mutex_lock(&shun->lock);
	int os_cpu = shun->os_cpu;
	pthread_mutex_unlock(&shun->lock);
	return os_cpu;
}

/* Set the mask to what was decided. Others may have decided otherwise before it is set, so look again. */
static void follow(struct shun *shun)
{
	int set, os_cpu = shunned(shun);

	do {
		struct cpuset mask = mask_without(shun, os_cpu);
		(void)act_set_mask(shun->tid, &mask);
		set = os_cpu;
		os_cpu = shunned(shun);
	} while (os_cpu != set);
}

static void note(struct shun *shun, int os_cpu, uint64_t late_ns, uint64_t now_ns)
{
	shun->os_cpu = os_cpu;
	shun->late_ns = late_ns;
	shun->until_ns = now_ns + SHUN_NS;
}

/* By what the thread itself concludes: the other CPU may be as bad, and there may be no third. Returns whether its
 * mask has to be set. */
static bool concludes(struct shun *shun, int os_cpu, uint64_t late_ns, uint64_t now_ns)
{
	bool other = shun->os_cpu >= 0 && shun->os_cpu != os_cpu;

	if (other && now_ns < shun->until_ns && late_ns <= shun->late_ns)
		return false;
	if (is_only(shun, os_cpu))
		return false;
	note(shun, os_cpu, late_ns, now_ns);
	return true;
}

/* ---- The watchers ---- */

/* How long the thread has waited, as far as a watcher can tell. */
static uint64_t late_ns(const struct shun *shun, uint64_t now_ns)
{
	return now_ns - (shun->woke_ns > 0 ? shun->woke_ns : shun->due_ns);
}

/* Returns whether to go on. */
static bool watch(struct shun *shun)
{
	int32_t os_cpu;
	bool known = proc_read_cpu(shun->pid, shun->tid, &os_cpu) == 0;

	pthread_mutex_lock(&shun->lock);
	uint64_t now_ns = clock_monotonic_ns();
	bool late = shun->due_ns > 0 && now_ns >= shun->due_ns + LATE_NS, goes_on = !shun->end;
	bool moves = goes_on && late && known && os_cpu != sched_getcpu() && !is_only(shun, os_cpu);
	if (moves) {
		note(shun, os_cpu, late_ns(shun, now_ns), now_ns);
		shun->moved = true;
		if (shun->woke_ns > 0)
			shun->woke_ns = now_ns; /* where it comes to, it begins to wait now */
	}
	pthread_mutex_unlock(&shun->lock);
	if (moves)
		follow(shun);
	return goes_on;
}

/* Each time, only one of the watchers gets to read. */
static void set_timer(const struct shun *shun, uint64_t at_ns, uint64_t gap_ns)
{
	struct itimerspec when = {
		.it_value = clock_timespec(at_ns), .it_interval = clock_timespec(gap_ns)};

	(void)timerfd_settime(shun->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void *watcher_main(void *argument)
{
	struct shun *shun = argument;
	uint64_t expirations;

	prctl(PR_SET_NAME, "juggle/watch");
	(void)act_set_own_slice(ACT_SLICE_LEAST_NS); /* runs as soon as it wakes; works without */
	do {
		(void)!read(shun->timer, &expirations, sizeof expirations); /* or a signal came */
	} while (watch(shun));
	return NULL;
}

static void start_watchers(struct shun *shun)
{
	if (cpuset_count(&shun->mask) < SHUN_WATCHERS)
		return;
	shun->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	while (shun->timer >= 0 && shun->watchers < SHUN_WATCHERS &&
		pthread_create(&shun->watcher[shun->watchers], NULL, watcher_main, shun) == 0) {
		/* Not by itself: no pin may follow that of shun_deinit(). */
		int os_cpu = cpuset_nth(&shun->mask, (int)shun->watchers);
		(void)act_pin_own(shun->watcher[shun->watchers++], os_cpu);
	}
	if (shun->timer >= 0 && shun->watchers == 0) {
		close(shun->timer);
		shun->timer = -1;
	}
}

/* ---- The thread ---- */

void shun_init(struct shun *shun)
{
	*shun = (struct shun){.timer = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.pid = getpid(),
		.tid = gettid(),
		.os_cpu = -1,
		.slept_on = sched_getcpu()};
	if (cpuset_of_thread(0, &shun->mask) < 0)
		shun->mask = (struct cpuset){0};
	start_watchers(shun);
}

void shun_deinit(struct shun *shun)
{
	if (shun->timer < 0)
		return;
	/* Others may have taken their CPUs; the caller's can be used. */
	for (size_t k = 0; k < shun->watchers; k++)
		(void)act_pin_own(shun->watcher[k], sched_getcpu());
	pthread_mutex_lock(&shun->lock);
	shun->end = true;
	pthread_mutex_unlock(&shun->lock);
	set_timer(shun, NOW_NS, NOW_NS); /* again after each read, so that all see it */
	for (size_t k = 0; k < shun->watchers; k++)
		pthread_join(shun->watcher[k], NULL);
	close(shun->timer);
	shun->timer = -1;
	pthread_mutex_destroy(&shun->lock);
}

void shun_taken(struct shun *shun, int os_cpu, uint64_t now_ns)
{
	pthread_mutex_lock(&shun->lock);
	bool same = shun->os_cpu == os_cpu;
	bool moves = concludes(shun, os_cpu, TAKEN_NS, now_ns) && !same;
	pthread_mutex_unlock(&shun->lock);
	if (moves)
		follow(shun);
}

void shun_sleep(struct shun *shun, uint64_t due_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (due_ns > 0 && due_ns < now_ns) /* that it is late is no fault of the CPU */
		due_ns = now_ns;
	pthread_mutex_lock(&shun->lock);
	shun->slept_on = sched_getcpu();
	shun->due_ns = due_ns;
	shun->woke_ns = 0;
	pthread_mutex_unlock(&shun->lock);
	/* Again and again from then on: a watcher may find that it is better to wait, or be held up itself. */
	if (shun->timer >= 0 && due_ns > 0)
		set_timer(shun, due_ns + LATE_NS, LATE_NS);
}

void shun_wake(struct shun *shun, uint64_t late_ns, uint64_t now_ns)
{
	bool watched = shun->timer >= 0 && shun->due_ns > 0, moves = false;

	/* While it is awake, too, all of its group of threads may have to wait on this CPU for seconds. */
	if (watched)
		set_timer(shun, now_ns + AWAKE_NS + LATE_NS, AWAKE_NS);
	pthread_mutex_lock(&shun->lock);
	shun->due_ns = watched ? now_ns + AWAKE_NS : 0;
	shun->woke_ns = now_ns;
	/* Without watchers, or if they were held up as well. A thread that woke up elsewhere may have waited here
	 * or there. */
	if (!shun->moved && late_ns > LATE_NS && shun->slept_on >= 0 &&
		shun->slept_on == sched_getcpu()) {
		moves = concludes(shun, shun->slept_on, late_ns, now_ns);
	} else if (shun->os_cpu >= 0 && now_ns >= shun->until_ns) {
		shun->os_cpu = -1;
		moves = true;
	}
	shun->moved = false;
	pthread_mutex_unlock(&shun->lock);
	if (moves)
		follow(shun);
}
