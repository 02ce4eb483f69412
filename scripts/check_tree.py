#!/usr/bin/env python3
"""What every tracked text file must be like: sizes, whitespace, no left-overs, no paths of one machine, links that
lead somewhere, Node sources that parse."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = {".h": 200, ".cc": 500}  # lines, in src/ and apps/
BINARY = {".png", ".ico", ".woff2", ".gz"}
GENERATED = ("package-lock.json", "fuzz/corpus/")
LEFT_OVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))|^\s*#\s*if 0\b")
MACHINE = re.compile(r"(?<![\w.}/-])/(?:root|work|home/\w+|Users/\w+)/[\w.]")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def check_lines(name: str, text: str) -> list[str]:
    faults = []
    if text and not text.endswith("\n"):
        faults.append(f"{name}: no newline at the end")
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            faults.append(f"{name}:{number}: whitespace at the end of the line")
        if "\t" in line and not name.endswith("Makefile"):
            faults.append(f"{name}:{number}: tab")
        if name != "scripts/check_tree.py" and LEFT_OVER.search(line):
            faults.append(f"{name}:{number}: left-over (name its issue: {'TO' + 'DO'}(#12))")
        if MACHINE.search(line):
            faults.append(f"{name}:{number}: path of one machine")
    return faults


def check(name: str) -> list[str]:
    path = ROOT / name
    if path.suffix in BINARY or name.endswith(GENERATED[0]) or name.startswith(GENERATED[1]) or name == "LICENSE":
        return []
    text = path.read_text()
    faults = check_lines(name, text)
    limit = LIMITS.get(path.suffix) if name.startswith(("src/", "apps/")) else None
    if limit and text.count("\n") > limit:
        faults.append(f"{name}: {text.count(chr(10))} lines, at most {limit}: it is two things")
    if path.suffix == ".md":
        faults += [f"{name}: the link to {link} leads nowhere"
                   for link in LINK.findall(text) if not (path.parent / link).exists()]
    if path.suffix == ".mjs":
        parsed = subprocess.run(["node", "--check", path], capture_output=True, text=True)
        if parsed.returncode != 0:
            faults.append(f"{name}: {parsed.stderr.strip()}")
    return faults


def main() -> int:
    faults = [fault for name in tracked() for fault in check(name)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
