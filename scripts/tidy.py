#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build folder, two things apart from run-clang-tidy: a source that was clean is
not looked at again until it, a header of ours that it includes, its flags or .clang-tidy change; and unit tests, whose
macros are GoogleTest's, are left to the compiler's warnings.

usage: scripts/tidy.py <build folder> [jobs]
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


@functools.cache
def content(path: pathlib.Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def closure(source: pathlib.Path) -> list[pathlib.Path]:
    """The source and every header under src/ that it includes, directly or not."""
    found, todo = {source}, [source]
    while todo:
        for name in INCLUDE.findall(content(todo.pop())):
            header = ROOT / "src" / name.decode()
            if header not in found:
                found.add(header)
                todo.append(header)
    return sorted(found)


def key(entry: dict, version: bytes) -> str:
    digest = hashlib.sha256(version + content(ROOT / ".clang-tidy") + entry["command"].encode())
    for path in closure(pathlib.Path(entry["file"])):
        digest.update(str(path).encode() + b"\0" + content(path))
    return digest.hexdigest()


def tidy(build: pathlib.Path, entry: dict, stamp: pathlib.Path) -> str:
    if stamp.exists():
        return ""
    done = subprocess.run([TIDY, "--quiet", "-p", build, entry["file"]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout or done.stderr


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count()
    stamps = ROOT / "build/lint"
    stamps.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["file"].startswith((f"{ROOT}/src/", f"{ROOT}/apps/")) and "_test." not in entry["file"]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        reports = list(pool.map(lambda entry: tidy(build, entry, stamps / key(entry, version)), entries))
    bad = [report for report in reports if report]
    print("".join(dict.fromkeys(bad)), end="")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
