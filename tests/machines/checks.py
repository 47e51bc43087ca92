# SPDX-License-Identifier: MIT
"""The checks of tests/machines: what a guest does, and what must have come of it.

Each is a function with a script for the guest's shell (see init), which knows $cpus (how many),
$first, $last and $domains. All files that the script leaves in its folder are in Seen.files; its own
output is the file "output". Jobs in the background ignore SIGINT, so they get SIGTERM. ubench has a fixed --rate: measured in a guest, it could be anything.
The function returns the facts for the table, or fails an assertion.
"""

import collections
import json
import re

ALL = []


class Skip(Exception):
    """Why this machine cannot show it."""


class Seen:
    """What a check left on a machine."""

    def __init__(self, machine, version, files):
        self.machine = machine
        self.version = tuple(map(int, version.split(".")))
        self.files = files
        self.domain = {cpu: d for d, cpus in enumerate(machine.domains) for cpu in cpus}

    def json(self, name):
        return json.loads(self.files[name])

    def records(self, name, kind):
        """The records of a kind in a trace, as lists of words."""
        return [line.split()[1:] for line in self.files.get(name, "").splitlines() if line.startswith(kind + " ")]

    def statuses(self):
        return [int(number) for number in re.findall(r"^status (\d+)$", self.files["output"], re.MULTILINE)]


def check(script):
    def register(function):
        function.script = script
        ALL.append(function)
        return function
    return register


@check(r"""
juggle --version
for command in "exit 7" 'kill -9 $$'; do juggle sh -c "$command"; echo "status $?"; done
juggle /nonexistent; echo "status $?"
""")
def starts(seen):
    assert seen.statuses() == [7, 137, 127], seen.files["output"]
    return "exit statuses 7, 137, 127"


@check(r"""
for mode in split joint llc; do juggle --domains $mode --report $mode true; done
""")
def domains(seen):
    split, joint = seen.json("split")["domains"], seen.json("joint")["domains"]
    assert split == seen.machine.domains, split
    assert joint == [seen.machine.cpus], joint
    caches = seen.json("llc")["domains"]
    assert caches == (seen.machine.caches or caches) and sorted(sum(caches, [])) == seen.machine.cpus, caches
    return "/".join(str(len(cpus)) for cpus in split) + " CPUs, %d caches" % len(caches)


# The second command records the machine in the format of tests/fixtures/doctor.
@check(r"""
jugglectl doctor --json >doctor; echo "status $?"
(cd / && grep -s . proc/self/cgroup proc/self/status proc/self/mounts \
	proc/sys/kernel/osrelease proc/sys/kernel/perf_event_paranoid proc/sys/kernel/sched_autogroup_enabled \
	sys/devices/system/cpu/online sys/devices/system/cpu/offline sys/devices/system/cpu/isolated \
	sys/devices/system/cpu/nohz_full sys/devices/system/cpu/cpu*/topology/thread_siblings_list) >fixture
""")
def doctor(seen):
    found = {finding["id"]: finding for finding in seen.json("doctor")["findings"]}
    assert seen.statuses() == [0], found
    wanted = dict(seen.machine.doctor)
    wanted["cpu_count"] = ("good", f"{len(seen.machine.cpus)} CPUs")
    wanted["kernel_version"] = ("note", "") if seen.version < (6, 6) else ("good", "EEVDF")
    wanted["samplers"] = ("good", "schedstat")
    for name, (level, text) in wanted.items():
        assert name in found, f"no finding {name}"
        assert (found[name]["level"], text in found[name]["text"]) == (level, True), found[name]
    return ", ".join(f"{name} {finding['level']}" for name, finding in found.items())


@check(r"""
for sampler in schedstat taskstats perf; do
	juggle --sampler $sampler --report $sampler ubench -q -t 2 -e 50ms -p 1000000 --rate 10000 --json /dev/null &
	app=$!
	sleep 8; kill $app; wait $app; echo "status $?"
done
""")
def samplers(seen):
    assert seen.statuses() == [143, 143, 143], seen.files["output"]
    for name in ("schedstat", "taskstats", "perf"):
        report = seen.json(name)
        assert report["sampler"] == name, report["sampler"]
        assert sum(thread["progress_s"] for thread in report["thread"]) > 0, report
    return "schedstat, taskstats, perf"


# One thread more than CPUs in each domain. Threads that are slow in a guest are no idle ones.
@check(r"""
threads=$((cpus + domains))
juggle --always --idle none -n $threads -i 50ms --report report --trace whole ubench -q -t $threads \
	-e 50ms -p 1000000 --rate 10000 --json /dev/null & app=$!
moved() { [ "$(grep -c '^move [0-9]* [0-9]' whole 2>/dev/null)" -ge $((10 * domains)) ] 2>/dev/null; }
patiently 90 moved
kill $app; wait $app; echo "status $?"
grep '^move ' whole >trace; rm whole
""")
def balances(seen):
    assert seen.statuses() == [143], seen.files["output"]
    report, domains = seen.json("report"), seen.machine.domains
    assert report["balancer"] == "ended" and report["exit_status"] == 143, report
    assert report["threads"] == sum(map(len, domains)) + len(domains), report["threads"]
    moves = [(int(source), int(target)) for _, source, target in seen.records("trace", "move")]
    between = [move for move in moves if min(move) >= 0 and seen.domain[move[0]] != seen.domain[move[1]]]
    assert not between, f"moves to other domains: {between}"
    inside = collections.Counter(seen.domain[move[0]] for move in moves if min(move) >= 0)
    assert all(inside[d] for d, cpus in enumerate(domains) if len(cpus) > 1), f"moves by domain: {inside}"
    placed = collections.Counter(seen.domain[target] for source, target in moves if source < 0 <= target)
    return (f"{report['threads']} threads, placed {'/'.join(str(placed[d]) for d in range(len(domains)))}, "
            f"moved {'/'.join(str(inside[d]) for d in range(len(domains)))} inside, none between domains")


@check(r"""
taskset -c $first-$((last - 1)) ubench -q -t $((cpus + domains)) -e 50ms -p 1000000 --rate 10000 --json /dev/null &
app=$!
sleep 1
masks $app >before
juggle --always --idle none -n $((cpus + domains)) -i 50ms -p $app &
balancer=$!
confined() { masks $app | grep -c '[[:space:]][0-9]*$' | grep -qx $((cpus + domains)); }
patiently 60 confined
masks $app >during
kill $balancer
wait $balancer; echo "status $?"
masks $app >after
kill $app
wait $app; echo "status $?"
""")
def restores(seen):
    if len(seen.machine.cpus) < 3:
        raise Skip("one CPU fewer leaves nothing to balance")
    assert seen.statuses() == [0, 143], seen.files["output"]
    assert seen.files["before"] == seen.files["after"], seen.files["after"]
    confined = len(re.findall(r"\t\d+$", seen.files["during"], re.MULTILINE))
    assert confined == len(seen.machine.cpus) + len(seen.machine.domains), seen.files["during"]
    return f"{confined} confined, then {seen.files['after'].count('Cpus')} masks as before"


# Each worker has a CPU, one of which has other work as well. numa_maps has the pages of each node.
# Most machines have no version 1 any more, and those that do can't show version 2.
@check(r"""
mkdir group && mount -t cgroup2 none group
grep -qw cpu group/cgroup.controllers || exit 0
echo +cpu >group/cgroup.subtree_control && mkdir group/job
number() { [ "$(grep "^cpus" trace | tail -n 1 | wc -w)" = $(($1 + 2)) ]; }
echo 100000 100000 >group/job/cpu.max
sh -c 'echo $$ >group/job/cgroup.procs && exec juggle --always --report report --trace trace ubench -q \
	--rate 20000 -t 3 -e 100ms -p 1000000' >/dev/null &
job=$!
patiently 100 number 1; echo "status $?"
echo 150000 100000 >group/job/cpu.max
patiently 100 number 2; echo "status $?"
echo max >group/job/cpu.max
patiently 100 number $cpus; echo "status $?"
echo 50000 100000 >group/job/cpu.max
patiently 100 number 1; echo "status $?"
kill $job; wait $job
umount group && rmdir group
""")
def quota(seen):
    if "report" not in seen.files:
        raise Skip("no cpu controller")
    assert seen.statuses() == [0, 0, 0, 0], seen.files["output"]
    report = seen.json("report")
    assert report["quota_cpus"] == 0.5 and len(report["cpus"]) == 1, report
    return f"1, 2, all, 1 CPUs; throttled for {report['throttled_s']:.1f} s"


@check(r"""
taskset -c $first sh -c 'while :; do :; done' & hog=$!
for balance in split joint hybrid:2; do
	mode=${balance%:*}
	juggle --report report.$mode --trace whole -n $cpus jacobi -q -t $cpus --grid $((cpus * 24))x100 \
		--balance $balance -n 1000000000 --json result.$mode & app=$!
	moved() { [ "$(grep -c '^give ' whole 2>/dev/null)" -ge $1 ] 2>/dev/null; }
	patiently 20 moved 1; job=$(pidof jacobi)
	settled() { jugglectl stat --json $job | grep -q '"updates_least": [2-9][0-9][0-9]\|"updates_least": [0-9]\{4\}'; }
	patiently 60 settled; grep -c '^give ' whole >early.$mode
	jugglectl stat --json $job >stat.$mode; cp /proc/$job/numa_maps maps.$mode
	patiently 40 moved $(($(cat early.$mode) + 5))
	kill $app; wait $app; echo "status $?"
	grep '^give ' whole >trace.$mode; rm whole
done
kill $hog
""")
def subdomains(seen):
    assert seen.statuses() == [143, 143, 143], seen.files["output"]
    facts, strayed = [], 0
    for mode in ("split", "joint", "hybrid"):
        result, report = seen.json(f"result.{mode}"), seen.json(f"report.{mode}")
        assert result["bound_exceeded"] == 0 and result["residual"] < 1, result
        assert report["progress"][0]["balancing"] == mode, report["progress"]
        domain = {thread["worker"]: thread["domain"] for thread in seen.json(f"stat.{mode}")["thread"]
                  if thread["worker"] is not None and thread["placed"]}
        gives = [(int(record[3]), int(record[4])) for record in seen.records(f"trace.{mode}", "give")]
        # Workers tell their node every 64 iterations. Before, it may be that of their first CPU.
        known = [give for give in gives[int(seen.files[f"early.{mode}"]):] if set(give) <= set(domain)]
        between = sum(domain[source] != domain[target] for source, target in known)
        if not gives or mode == "split" and not known:  # juggle got so little CPU that the program has taken over
            itself = result["moves"] - len(gives)
            assert itself > len(gives), f"{mode}: nothing moved"
            facts.append(f"{mode} {itself} moves by the program itself")
            continue
        if mode == "split":
            strayed += between
        facts.append(f"{mode} {len(gives)} moves, {between} of {len(known)} between domains")
    pages = collections.Counter()
    for line in seen.files["maps.split"].splitlines():
        if "file=" not in line:
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                pages[int(node)] += int(count)
    facts.append("pages of the nodes " + "/".join(str(pages[node]) for node in sorted(pages)))
    assert strayed == 0 or len(seen.machine.domains) == 1, "split leaves its node: " + "; ".join(facts)
    return "; ".join(facts)


@check(r"""
online() { echo $1 >/sys/devices/system/cpu/cpu$last/online; }
changes() { [ "$(grep -c '^cpus ' trace 2>/dev/null)" -ge $1 ] 2>/dev/null; }
juggle --always --idle none -i 50ms --report report --trace trace ubench -q -t $((cpus + domains)) -e 50ms \
	-p 1000000 --rate 10000 --json /dev/null & app=$!
patiently 20 changes 1; sleep 2
online 0; patiently 20 changes 2
jugglectl doctor --json >doctor
online 1; patiently 20 changes 3
kill $app; wait $app; echo "status $?"
grep '^cpus ' trace >changes; rm trace
""")
def hotplug(seen):
    assert seen.statuses() == [143], seen.files["output"]
    used = [[int(word.partition(":")[0]) for word in record[1:]] for record in seen.records("changes", "cpus")]
    cpus = seen.machine.cpus
    assert [sorted(each) for each in used] == [cpus, cpus[:-1], cpus], used
    offline = [finding["level"] for finding in seen.json("doctor")["findings"] if finding["id"] == "offline_cpus"]
    assert offline, "doctor does not tell of the offline CPU"
    assert seen.json("report")["balancer"] == "ended"
    return f"used {', '.join(str(len(each)) for each in used)} CPUs; doctor's offline_cpus {offline[0]}"


# QEMU plugs a CPU in while a job runs: that job keeps to its CPUs, and the next one has the new CPU, too.
@check(r"""
new=$((last + 1))
ls -d /sys/devices/system/cpu/cpu[0-9]*
juggle --always --idle none -i 50ms --report report ubench -q -t $((cpus + 1)) -e 50ms -p 1000000 --rate 10000 \
	--json /dev/null & app=$!
sleep 2
say "monitor:$plug"
patiently 30 test -e /sys/devices/system/cpu/cpu$new/online && echo 1 >/sys/devices/system/cpu/cpu$new/online
cat /sys/devices/system/cpu/online
sleep 3
kill $app; wait $app; echo "status $?"
juggle --report after true; echo "status $?"
""")
def plugs(seen):
    if not seen.machine.plug:
        raise Skip("QEMU has no CPU to plug in here")
    assert seen.statuses() == [143, 0], seen.files["output"]
    assert seen.json("report")["cpus"] == seen.machine.cpus, seen.json("report")["cpus"]
    after = seen.json("after")["cpus"]
    assert after == seen.machine.cpus + [seen.machine.cpus[-1] + 1], after
    return f"the job kept {len(seen.machine.cpus)} CPUs, the next one has {len(after)}"
