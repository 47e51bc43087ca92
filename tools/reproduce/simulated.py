# SPDX-License-Identifier: MIT
"""What the simulated experiments share: jugglectl simulate, several at a time.

The balancers and the solver's cells are the real ones, in virtual time; a model gives costs and
noise. So a run is exact and repeatable, whatever else this machine does.
"""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor, as_completed

from experiment import Progress, run_json


def add_options(parser, cells, height):
    """Options that only --simulated has."""
    group = parser.add_argument_group("with --simulated")
    group.add_argument("--simulated", action="store_true",
                       help="the papers' machines, in virtual time, by jugglectl simulate")
    group.add_argument("--cells", type=int, metavar="N", help=f"N x N for each core {cells}")
    group.add_argument("--jobs", type=int, metavar="N", help="simulations at a time (default: one for each CPU)")
    group.add_argument("--height", type=float, action="append", metavar="H",
                       help=f"of the source, over the cells inside at the start {height}")
    return group


def check_options(parser, args, real):
    """Completes the options. `real`: those that only real runs have, by name and default; refuses
    options of the other kind."""
    given = [name for name, default in real.items() if getattr(args, name) != default]
    own = [name for name in ("cells", "jobs", "height") if getattr(args, name) is not None]
    wrong = given if args.simulated else own
    if wrong:
        names = ", ".join("--" + name.replace("_", "-") for name in wrong)
        parser.error(f"{names}: {'not' if args.simulated else 'only'} with --simulated")
    if not args.simulated:
        return
    args.jugglectl = args.build / "tools" / "jugglectl"
    if not args.jugglectl.exists():
        parser.error(f"{args.jugglectl} is missing; build first, or give --build")
    args.jobs = args.jobs if args.jobs is not None else len(os.sched_getaffinity(0))
    if args.jobs < 1 or (args.cells is not None and args.cells < 1) or min(args.height or [1]) <= 0:
        parser.error("--jobs, --cells, --height: a job, a cell and more than 0 at least")


def simulate(args, machine, options):
    """One simulation; returns what jacobi would have reported."""
    result = run_json([args.jugglectl, "simulate", machine, "--json", "-q", *map(str, options)])
    variant = result["variant"][0]
    return {
        "elapsed_s": variant.get("time_to_solution_s") or variant["time_s"],
        "iteration_rate": variant["iterations_per_s"],
        "spread": variant["spread"],
        "staleness_max": variant["staleness"],
        "rank_moves": variant["dplb_moves"],
        "updates": variant["updates"],
        "capacity": result["capacity"],
    }


class Kept:
    """The results of an experiment as they come, in a file of its folder: begun again, it goes on from there. They
    are of one simulator: of another one, a run is made again."""

    def __init__(self, args):
        self.simulator = hashlib.sha256(args.jugglectl.read_bytes()).hexdigest()
        self.file = (args.output / "simulated.jsonl").open("a+", buffering=1)
        self.file.seek(0)
        self.results = {}
        for line in self.file:
            try:
                simulator, *key, result = json.loads(line)
            except ValueError:  # of a line that was being written as all ended
                continue
            if simulator == self.simulator:
                self.results[tuple(key)] = result

    def add(self, key, result):
        self.file.write(json.dumps([self.simulator, *key, result]) + "\n")


def simulate_all(args, machine, plan):
    """Adds its results to each run of the plan, a dict with its options."""
    kept = Kept(args)
    for run in plan:
        run["options"] = " ".join(map(str, run["options"]))
        run["result"] = kept.results.get((machine, run["options"]))
    missing = [run for run in plan if run["result"] is None]
    progress = Progress(len(missing))
    with kept.file, ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(simulate, args, machine, run["options"].split()): run for run in missing}
        try:
            for future in as_completed(futures):
                run = futures[future]
                run["result"] = future.result()
                kept.add((machine, run["options"]), run["result"])
                progress.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return plan


def height_name(height):
    """A suffix for files: none for jacobi's own height."""
    return "" if height == 1 else f"-source-{height:g}"
