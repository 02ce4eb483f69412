#!/usr/bin/env python3
"""Holds every place that pushes an event to the table of kinds (src/feed/kind_table.h).

The compiler already refuses a push of a type outside the table. This adds what it cannot see:
  - each payload type of the table is a struct of payloads.h, and each struct there is in the table;
  - a push outside src/feed that spells its payload's type names one of the table;
  - nobody outside src/feed includes the ring or writes an event frame by hand, past the table;
  - with --complete: each payload type of the table is pushed, by name, somewhere outside the tests.
Comments are not looked at. A payload passed as a variable is typed by the compiler and not counted by --complete.

Usage: check_push_sites.py [--complete] [root of the tree]
Prints file:line for each fault; exits 1 when there is one.
"""

import argparse
import pathlib
import re
import sys

INTERNALS = ("feed/ring.h",)
# feed.push( / feed_->push( / services.feed().push(
PUSH = re.compile(r"\b\w*feed\w*(?:\(\))?\s*(?:\.|->)\s*push\s*\(", re.IGNORECASE)
SPELLED = re.compile(r"^(?:agentd::)?(?:feed::)?([A-Z]\w*)\s*\{")
RAW_FRAME = re.compile(r'\{\\?"event\\?":\s*\{')


def without_comments(text):
    """The text with comments blanked, so that offsets and lines stay."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)

    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    return pattern.sub(blank, text)


def arguments(text, start):
    """The top-level arguments of the call whose '(' is just before `start`."""
    depth, begin, found = 1, start, []
    for i in range(start, len(text)):
        char = text[i]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and char == ","):
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            break
    return found


def table_payloads(feed):
    text = without_comments((feed / "kind_table.h").read_text())
    rows = re.findall(r"KindRow<([^>]+)>\s*\{", text)
    return {name.strip() for row in rows for name in row.split(",")}


def check_table(feed, table, fault):
    payloads = feed / "payloads.h"
    text = without_comments(payloads.read_text())
    structs = {m.group(1): text.count("\n", 0, m.start()) + 1 for m in re.finditer(r"^struct (\w+)", text, re.MULTILINE)}
    for name in sorted(table - structs.keys()):
        fault(feed / "kind_table.h", 1, f"{name} is no struct of payloads.h")
    for name in sorted(structs.keys() - table):
        fault(payloads, structs[name], f"{name} is in no row of kind_table.h")


def check_file(path, table, fault):
    """Returns the payload types that the file pushes by name."""
    text = without_comments(path.read_text())
    pushed = set()

    def line(offset):
        return text.count("\n", 0, offset) + 1

    for internal in INTERNALS:
        for match in re.finditer(rf'#include "{internal}"', text):
            fault(path, line(match.start()), f"{internal} is internal to src/feed; push a payload instead")
    if not path.name.endswith("_test.cc"):
        for match in RAW_FRAME.finditer(text):
            fault(path, line(match.start()), "an event frame written by hand; push a payload instead")
    for match in PUSH.finditer(text):
        args = arguments(text, match.end())
        if len(args) != 2:
            fault(path, line(match.start()), f"a push takes a visibility and a payload, not {len(args)} arguments")
            continue
        spelled = SPELLED.match(args[1])
        if spelled and spelled.group(1) not in table:
            fault(path, line(match.start()), f"{spelled.group(1)} is in no row of kind_table.h")
        elif spelled:
            pushed.add(spelled.group(1))
    return pushed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--complete", action="store_true", help="also require a push of each payload type")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    options = parser.parse_args()
    source = options.root / "src"
    feed = source / "feed"
    faults = []

    def fault(path, line, why):
        faults.append(f"{path.relative_to(options.root)}:{line}: {why}")

    table = table_payloads(feed)
    if not table:
        fault(feed / "kind_table.h", 1, "no row found: has the form of the table changed?")
    check_table(feed, table, fault)
    pushed = set()
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".h", ".cc") or feed in path.parents:
            continue
        named = check_file(path, table, fault)
        if not path.name.endswith("_test.cc"):
            pushed |= named
    if options.complete:
        for name in sorted(table - pushed):
            fault(feed / "kind_table.h", 1, f"{name} is pushed nowhere")
    for one in faults:
        print(one)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
