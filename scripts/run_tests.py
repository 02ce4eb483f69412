#!/usr/bin/env python3
"""Runs the unit tests of a build folder and the end-to-end tests against its binary, and counts test cases.

Says one line for each test program while it goes, then the output of what failed, then one summing line:
`N passed, N failed`. Exit status 0 only when something ran and nothing failed. Logs: <build>/tests/.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_SECONDS = 300
E2E_FILE_SECONDS = 240
ENDED = re.compile(r"^\[\s+(OK|FAILED|SKIPPED)\s+\] ([\w/]+\.[\w/]+)", re.M)
BEGUN = re.compile(r"^\[ RUN      \] (\S+)", re.M)


@dataclass
class Outcome:
    name: str
    seconds: float
    output: str
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)


def run(command: list[str], seconds: float, **options) -> tuple[int | None, str, float]:
    """Exit status (None when it was too slow and was killed with its children), output, and the seconds it took."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", start_new_session=True, **options) as child:
        try:
            output, status = child.communicate(timeout=seconds)[0], child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, status = f"{child.communicate()[0]}\nnot ended after {seconds} s: killed\n", None
    return status, output, time.monotonic() - begun


def unit(test: dict) -> Outcome:
    """One program: its GoogleTest cases, or the program itself as one case when it is none of GoogleTest's."""
    properties = {p["name"]: p["value"] for p in test.get("properties", [])}
    status, output, seconds = run(test["command"] + ["--gtest_color=no"], UNIT_SECONDS,
                                  cwd=properties.get("WORKING_DIRECTORY"),
                                  env=os.environ | dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", [])))
    outcome = Outcome(test["name"], seconds, output)
    ended: dict[str, str] = {}
    for verdict, case in ENDED.findall(output):
        ended.setdefault(case, verdict)
    begun = BEGUN.findall(output)
    outcome.passed = sum(verdict == "OK" for verdict in ended.values())
    outcome.skipped = sum(verdict == "SKIPPED" for verdict in ended.values())
    outcome.failed = [case for case, verdict in ended.items() if verdict == "FAILED"]
    outcome.failed += [f"{case} (did not end)" for case in begun if case not in ended]
    if not begun and status == 0 and "[==========]" not in output:
        outcome.passed = 1
    elif status != 0 and not outcome.failed:
        outcome.failed = [f"the program itself: exit status {status}"]
    return outcome


def units(build: pathlib.Path, only: str, jobs: int) -> list[Outcome]:
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-R", only], check=True,
                            capture_output=True, text=True)
    tests = [test for test in json.loads(listed.stdout)["tests"] if "command" in test]
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(unit, test) for test in tests]):
            outcomes.append(done.result())
            say(outcomes[-1])
    return outcomes


def e2e(build: pathlib.Path, patterns: list[str]) -> list[Outcome]:
    """The node tests against the binary of the build folder: one file at a time, so that one that hangs is named."""
    outcomes = []
    for pattern in patterns:
        files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/e2e").glob(pattern))
        if not files:
            outcomes.append(Outcome("e2e", 0, "", failed=[f"no file tests/e2e/{pattern}"]))
        for file in files:
            outcomes.append(e2e_file(build, file))
            say(outcomes[-1])
    return outcomes


def e2e_file(build: pathlib.Path, file: str) -> Outcome:
    name = "e2e." + pathlib.Path(file).name.removesuffix(".test.mjs")
    report = build / "tests" / f"{name}.cases"
    status, output, seconds = run(
        ["node", "--test", "--test-reporter=./scripts/case_reporter.mjs", f"--test-reporter-destination={report}",
         "--test-reporter=spec", "--test-reporter-destination=stdout", file],
        E2E_FILE_SECONDS, cwd=ROOT, env={**os.environ, "AGENTD_BIN": str(build / "agentd")})
    cases = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    outcome = Outcome(name, seconds, output)
    outcome.passed = sum(case["verdict"] == "passed" for case in cases)
    outcome.skipped = sum(case["verdict"] == "skipped" for case in cases)
    outcome.failed = [case["name"] for case in cases if case["verdict"] == "failed"]
    if status is None:
        outcome.failed.append(f"{file}: the test after the last one listed did not end in {E2E_FILE_SECONDS} s")
    elif status != 0 and not outcome.failed:
        outcome.failed = [f"{file}: node --test: exit status {status}"]
    return outcome


def say(outcome: Outcome) -> None:
    line = f"{outcome.name:<20} {outcome.passed:>4} passed"
    if outcome.skipped:
        line += f", {outcome.skipped} skipped"
    if outcome.failed:
        line += f", {len(outcome.failed)} failed"
    print(f"{line}  ({outcome.seconds:.1f} s)", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder, such as build/dev")
    parser.add_argument("--units", default=".", metavar="REGEX", help="only the unit test programs of this name")
    parser.add_argument("--e2e", default="*.test.mjs", metavar="GLOB",
                        help="which files of tests/e2e, several by spaces ('' for none)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="unit test programs at a time")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    logs = build / "tests"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)

    outcomes = units(build, arguments.units, arguments.jobs)
    if patterns := arguments.e2e.split():
        outcomes += e2e(build, patterns)
    for outcome in outcomes:
        (logs / f"{outcome.name}.log").write_text(outcome.output)
    bad = [outcome for outcome in outcomes if outcome.failed]
    for outcome in bad:
        print(f"\n==== {outcome.name}\n{outcome.output}")
    for outcome in bad:
        for case in outcome.failed:
            print(f"failed: {outcome.name}: {case}")

    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(len(outcome.failed) for outcome in outcomes)
    summary = f"{passed} passed, {failed} failed"
    (logs / "summary").write_text(summary + "\n")
    print(summary, flush=True)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
