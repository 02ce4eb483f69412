#!/usr/bin/env python3
"""Measures a release daemon beside its floor and its peers (docs/performance.md says what, and how to read it).

usage: bench/run.py BUILD [--agentd PATH] [--quick] [--only PART…]    writes bench/results.json and prints the table
       bench/run.py --table                           prints the table of results.json, also into docs/performance.md
"""
import argparse
import json
import os
import pathlib
import platform
import re
import resource
import sys
import time

import agent
import alone
import calls
import fan_out
import revoke
import status
import streams
import table
from bench import HERE, Bench

RESULTS, PAGE = HERE / "results.json", HERE.parent / "docs/performance.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
# Quiet ones first: what is idle is disturbed by what ran before it.
PARTS = {"start": alone.starts, "idle": alone.idle, "first-event": alone.first_event, "push": calls.push,
         "fifty": fan_out.fifty, "one-at-a-time": fan_out.one_at_a_time, "peers": fan_out.peers, "burst": fan_out.burst,
         "owners": streams.owners, "memory": streams.idle_memory, "reconnects": streams.reconnects,
         "stalled": streams.stalled, "revoke": revoke.revoke, "status": status.status,
         "send": calls.send_message, "get": calls.get_task,
         "agent-rounds": agent.rounds, "agent-crowd": agent.crowd, "agent-conversation": agent.conversation}


def machine() -> dict:
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"cpu": model[1] if model else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}


def bench_of(arguments: argparse.Namespace) -> Bench:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("bench: one core only: server and generator share it, and every rate is too low", file=sys.stderr)
    return Bench(build=arguments.build.resolve(), agentd=(arguments.agentd or arguments.build / "agentd").resolve(),
                 quick=arguments.quick, rounds=3 if arguments.quick else 5,
                 seconds=1 if arguments.quick else 2, streams=1000, server_cpu=cores[0], client_cpu=cores[-1])


def measure(bench: Bench, parts: list[str]) -> dict:
    """A part that fails is said to, and leaves the others alone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    results, missing, failed = {}, [], []
    for name in parts:
        begun = time.monotonic()
        try:
            found = PARTS[name](bench)
        except Exception as fault:  # pylint: disable=broad-except
            failed.append(f"{name}: {' '.join(str(fault).split())}")
            print(f"bench: {name:<14} FAILED: {fault}", file=sys.stderr)
            continue
        missing += found.pop("missing", [])
        results.update({key: round(value, 3) for key, value in found.items()})
        print(f"bench: {name:<14} {time.monotonic() - begun:5.1f} s", file=sys.stderr)
    return {"machine": machine(), "measured": time.strftime("%Y-%m-%d", time.gmtime()), "quick": bench.quick,
            "rounds": bench.rounds, "missing": missing + failed, "failed": failed, "results": results}


def publish(text: str) -> None:
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + text + END + after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, nargs="?", help="build folder, such as build/release")
    parser.add_argument("--agentd", type=pathlib.Path, help="the daemon, when it is not in the build folder")
    parser.add_argument("--quick", action="store_true", help="best of 3 short rounds, to see that it runs")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--table", action="store_true", help="no measuring: the last results into docs/performance.md")
    arguments = parser.parse_args()
    if arguments.table:
        text = table.markdown(json.loads(RESULTS.read_text()))
        publish(text)
        print(text, end="")
        return 0
    if arguments.build is None:
        parser.error("the build folder is missing")
    document = measure(bench_of(arguments), arguments.only or list(PARTS))
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")
    print(table.markdown(document), end="")
    return 1 if document["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
