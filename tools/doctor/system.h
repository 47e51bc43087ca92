/* SPDX-License-Identifier: MIT */
/*
 * What is known of this machine, this environment, and the command that juggle is to run.
 *
 * These are only facts; the rules (rule.h) draw conclusions, and see nothing else. So tests can
 * apply the rules to the facts of any machine. Comments give the value of a number that could not
 * be found out.
 */
#ifndef DOCTOR_SYSTEM_H
#define DOCTOR_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"
#include "daemon/preload/preload.h"
#include "daemon/sample/sampler.h"

enum {
	DOCTOR_LIBRARIES_MAX = 64, /* kept for a program */
	DOCTOR_LIBRARY_BYTES = 64,
};

#define DOCTOR_SAMPLERS (SAMPLER_PERF + 1)

struct doctor_version {
	int major, minor, patch; /* major 0: not known */
};

/* A program file. */
struct doctor_program {
	char name[256]; /* as in the command; cut */
	char path[4096]; /* "" when it isn't found */
	int error; /* 0; -ENOENT, -EACCES (it may not be executed) ... */
	bool script; /* begins with #! */
	bool elf; /* for this kind of machine, and could be read */
	bool fixed; /* linked statically: no libraries */
	bool privileged; /* set-uid to root, or with capabilities */
	size_t libraries; /* the direct ones, not theirs */
	char library[DOCTOR_LIBRARIES_MAX][DOCTOR_LIBRARY_BYTES];
};

enum doctor_launcher_kind {
	DOCTOR_NO_LAUNCHER,
	DOCTOR_OPEN_MPI,
	DOCTOR_HYDRA, /* MPICH's; Intel's and MVAPICH's derive from it */
	DOCTOR_SRUN,
	DOCTOR_UNKNOWN_MPI, /* an mpirun of unknown kind */
};

/* What the arguments of a launcher of MPI ranks say. */
struct doctor_launcher {
	enum doctor_launcher_kind kind;
	uint32_t ranks; /* 0: not given */
	char bind[64]; /* as given; "" when it isn't */
	bool oversubscribe;
	bool hardware_threads; /* they count as cores */
	bool hosts; /* names hosts, or a file of them */
	bool elsewhere; /* a host may be another machine than this one */
	bool yield; /* asks for mpi_yield_when_idle */
	bool unsure; /* an option was not understood: the rest may be wrong */
	int program; /* index of the program in the command; -1: none found */
};

struct doctor_system {
	/* CPUs */
	int affinity_error; /* of reading the affinity mask: 0 or a negative errno */
	struct cpuset cpus; /* the CPUs that juggle would use: -c, or the mask */
	bool cpus_given; /* -c */
	struct cpuset mask; /* of affinity */
	struct cpuset online;
	struct cpuset offline;
	struct cpuset cpuset; /* of the cgroup; empty: not known */
	struct cpuset isolated;
	struct cpuset nohz_full;
	struct cpuset first; /* the first CPU of `cpus` on each core */
	struct cpuset cores; /* the same for all online CPUs in the cpuset */
	double speed[CPUSET_CPUS_MAX]; /* of each in `cpus`, as juggle sees it; 0: not known */
	char speeds_from[16]; /* where that is from, see topology.h */
	double stolen
		[CPUSET_CPUS_MAX]; /* share of their time that a hypervisor took; or not known */
	struct cpuset kind[2]; /* fast cores, and cores that save power; empty: there is one kind */
	char governor[32]; /* "": none; "several" */
	char driver[32]; /* of the first CPU; "": none */
	size_t domains; /* 0: not known */
	double load; /* average of the last minute; 0: not known */
	double quota_cpus; /* CPU time per second that the cgroup may use; INFINITY: no limit */

	/* Kernel */
	struct doctor_version kernel;
	char release[64];
	char sched_ext[32]; /* "": there is none */
	int autogroup; /* 0, 1; -1: there is none */
	uint64_t tick_ns; /* 0: not known */
	int seccomp; /* of this process: 0, 1, 2; -1: not known */
	int perf_paranoid; /* INT_MIN: not known */

	/* Who we are, and where */
	uid_t uid;
	bool may_move_others; /* CAP_SYS_NICE */
	bool container; /* a PID namespace of its own */
	int proc_error; /* of using /proc: 0; -ENOENT; -EXDEV: it is of another PID namespace */
	bool hidepid; /* /proc is mounted so that others' processes can't be seen */
	bool births_seen; /* /proc/loadavg is the kernel's own */
	uint64_t open_files; /* hard limit; 0: not known */

	/* Samplers, by enum sampler_kind: 0, or what sampler_new() gave. */
	int sampler_error[DOCTOR_SAMPLERS];
	bool instructions; /* perf counts them */

	/* /dev/shm */
	int shm_error; /* of using it: 0 or a negative errno */
	bool shm_tmpfs;
	uint64_t shm_free_bytes;
	uint64_t segment_bytes; /* that juggle needs */
	size_t stale_segments; /* of this user */

	/* NAME=VALUE, ended by NULL; not owned */
	const char *const *environment;

	/* The command line of doctor */
	uint32_t threads; /* 0: not given */
	const char *const *command; /* ended by NULL; NULL: none given; not owned */
	struct doctor_launcher launcher;
	struct doctor_program program; /* the command itself */
	struct doctor_program inner; /* what a launcher starts; its name is "" when there is none */
	struct preload
		phases; /* of libphases, as --phases=auto decides; why is "" without a command */
};

/* Set all facts to "not known". */
void doctor_system_init(struct doctor_system *system);

/* The value of a variable of the environment; NULL when it isn't set. */
const char *doctor_env(const struct doctor_system *system, const char *name);

/* The program that computes: what the launcher starts, else the command; NULL without a command. */
const struct doctor_program *doctor_target(const struct doctor_system *system);

/* The first library of a program whose name begins with `begin`; NULL when there is none. */
const char *doctor_library(const struct doctor_program *program, const char *begin);

/* ---- Gathering. Each fills in its part, and leaves unchanged what can't be found out. ---- */

/* Read files in /proc and /sys. root: a folder that has them, "" for this machine. Needs
 * system->cpus. */
void doctor_read_machine(struct doctor_system *system, const char *root);

/* Try what can only be found out by trying: affinity mask, samplers, topology, /dev/shm, limits.
 * Sets system->cpus unless cpus_given. */
void doctor_try_machine(struct doctor_system *system);

/* Look at system->command, and at the program that it starts if it is a launcher. Runs nothing. */
void doctor_look_at_command(struct doctor_system *system);

#endif
