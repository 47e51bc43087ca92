/* SPDX-License-Identifier: MIT */
/*
 * A job to besiege: three busy threads, each of which has a child every few milliseconds, by turns
 * a thread and a process.
 *
 *     births STATUS CHILDREN STAY_MS
 *
 * Each busy thread has that many children (-1: no end), and a child stays, asleep, for STAY_MS
 * milliseconds (-1: as long as the job). The job ends with STATUS as soon as its standard input
 * does. Children that can't be born are left out.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int until[2];
static int children, stay_ms;
static pthread_attr_t detached;

static void *stay(void *unused)
{
	struct pollfd end = {.fd = until[0], .events = POLLIN};

	poll(&end, 1, stay_ms);
	return unused;
}

static void have_child(int turn)
{
	pthread_t thread;

	if (turn % 2 == 0) {
		pthread_create(&thread, &detached, stay, NULL);
		return;
	}
	if (fork() == 0) {
		close(until[1]);
		stay(NULL);
		_exit(0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void *busy(void *unused)
{
	for (int turn = 0;; turn++) {
		for (volatile int i = 0; i < 2000000; i++)
			;
		if (children < 0 || turn < children)
			have_child(turn);
	}
	return unused;
}

int main(int argc, char **argv)
{
	static const int ignored[] = {
		SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPIPE};
	pthread_t thread;
	char byte;

	if (argc != 4 || pipe(until) < 0)
		return 1;
	children = atoi(argv[2]);
	stay_ms = atoi(argv[3]);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, busy, NULL);
	while (read(0, &byte, 1) > 0)
		;
	_exit(atoi(argv[1]));
}
