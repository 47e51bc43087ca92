/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/telemetry/writer.h"

/* Whoever kills all processes named juggle, or with that command line, does not mean this one. */
static void change_name(void)
{
	static const char name[] = "mask-guard";
	size_t room = strlen(program_invocation_name);

	prctl(PR_SET_NAME, name);
	for (size_t i = 0; i < room; i++)
		program_invocation_name[i] = i < sizeof name - 1 ? name[i] : '\0';
}

_Noreturn static void guard_main(const struct guard_start *start)
{
	bool attached = start->options->pid != 0;
	const struct proc_scan_options what = {
		.root = attached ? start->options->pid : start->keeper, .include_root = attached};
	struct proc_scan *scan;
	ssize_t n;
	char byte;

	change_name();
	close(start->life[1]);
	int r = proc_scan_new(&scan, &what);
	do
		n = read(start->life[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	if (r == 0 && n == 0 && !ledger_is_closed(start->ledger)) {
		ledger_restore_all(start->ledger);
		ledger_restore_born(start->ledger, scan);
		telemetry_unlink(start->telemetry);
	}
	_exit(0);
}

pid_t guard_start(const struct guard_start *start)
{
	pid_t pid = fork();

	if (pid == 0)
		guard_main(start);
	int error = errno;
	close(start->life[0]);
	return pid < 0 ? -error : pid;
}

void guard_end(pid_t pid)
{
	if (pid > 0 && kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
}
