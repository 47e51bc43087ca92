# SPDX-License-Identifier: MIT
"""What the simulated experiments have in common: jugglectl simulate, several at a time.

The balancers and the solver's cells are the real ones, in virtual time; costs and noise are a model's. So a run
is exact and repeatable, whatever this machine does meanwhile.
"""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed

from experiment import Progress, run_json


def add_options(parser, cells, height):
    """Those that only --simulated has."""
    group = parser.add_argument_group("with --simulated")
    group.add_argument("--simulated", action="store_true",
                       help="the papers' machines, in virtual time, by jugglectl simulate")
    group.add_argument("--cells", type=int, metavar="N", help=f"N x N for each core {cells}")
    group.add_argument("--jobs", type=int, metavar="N", help="simulations at a time (default: one for each CPU)")
    group.add_argument("--height", type=float, action="append", metavar="H",
                       help=f"of the source, over the cells inside at the start {height}")
    return group


def check_options(parser, args, real):
    """Completes them. `real`: the options, by name and default, that only real runs have; the other way round, too."""
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
    """One simulation; what jacobi would report of it."""
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


def simulate_all(args, machine, plan):
    """Completes each run of the plan, a dict with its options, by what came of it."""
    progress = Progress(len(plan))
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(simulate, args, machine, run["options"]): run for run in plan}
        try:
            for future in as_completed(futures):
                futures[future]["result"] = future.result()
                progress.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for run in plan:
        run["options"] = " ".join(map(str, run["options"]))
    return plan


def height_name(height):
    """Of files: nothing for jacobi's own."""
    return "" if height == 1 else f"-source-{height:g}"
