#!/usr/bin/env python3
"""Holds the tree to its layers (ARCHITECTURE.md, "Folders").

- A folder may use only folders above it in the list of the top CMakeLists.txt.
- A source of src/<folder> includes only from its own folder and those that its CMakeLists.txt names in USES;
  a folder named there that nothing includes from is a fault too. USES is the whole truth, never transitive.
- A unit test, or what several of them share (*_fixture.h), may include what its folder reaches through USES, and what its own LINKS reach.
- Some libraries belong to some folders (FENCES).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<own>[^"]+)"|<(?P<system>[^>]+)>)', re.M)
# Prefix of a header's name -> the folders that may see it.
FENCES = {
    "boost/asio": {"net"},
    "boost/beast": {"http"},
    "openssl/ssl.h": {"net"},
    "curl/": {"http", "client"},
    "sqlite3.h": {"store"},
    "SQLiteCpp": {"store"},
    "valijson/": {"schema"},
    "yaml-cpp/": {"base", "config"},
    "jq.h": {"workflow"},
    "CLI/": {"cli"},
    "spdlog/": {"base"},
}


def layers() -> list[str]:
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"foreach\(folder IN ITEMS ([^)]*)\)", text).group(1).split()


def words_of(text: str, function: str, keyword: str) -> list[str]:
    """The words after `keyword` in the call of a function such as agentd_library(...)."""
    call = re.search(rf"{function}\(([^)]*)\)", text)
    words = re.sub(r"#.*", "", call.group(1)).split() if call else []
    if keyword not in words:
        return []
    rest = words[words.index(keyword) + 1:]
    end = next((i for i, word in enumerate(rest) if word in {"USES", "LINKS", "SOURCES"}), len(rest))
    return rest[:end]


def reach(folders: set[str], uses: dict[str, list[str]]) -> set[str]:
    found, todo = set(), list(folders)
    while todo:
        folder = todo.pop()
        if folder not in found:
            found.add(folder)
            todo += uses.get(folder, [])
    return found


def includes(path: pathlib.Path):
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match["own"] or "", match["system"] or ""


def check_folder(folder: str, order: list[str], uses: dict[str, list[str]], tests: set[str]) -> list[str]:
    faults, seen = [], set()
    for use in uses[folder]:
        if use not in order or order.index(use) >= order.index(folder):
            faults.append(f"src/{folder}/CMakeLists.txt: USES {use}, which is not above {folder}")
    for path in sorted(p for p in (SRC / folder).rglob("*") if p.suffix in {".h", ".cc"}):
        is_test = path.stem.endswith(("_test", "_fixture"))
        allowed = reach({folder} | tests, uses) if is_test else {folder, *uses[folder]}
        for line, own, system in includes(path):
            place = f"{path.relative_to(ROOT)}:{line}"
            other = own.split("/")[0]
            if own and "/" not in own:
                faults.append(f'{place}: "{own}": write "{folder}/{own}"')
            elif own and other in order and other not in allowed:
                faults.append(f"{place}: {folder} does not declare {other} (USES in src/{folder}/CMakeLists.txt)")
            elif own and not is_test:
                seen.add(other)
            for prefix, owners in FENCES.items():
                if system.startswith(prefix) and folder not in owners:
                    faults.append(f"{place}: <{system}> belongs to src/{' and src/'.join(sorted(owners))}")
    faults += [f"src/{folder}/CMakeLists.txt: USES {use}, but nothing includes from it"
               for use in uses[folder] if use not in seen]
    return faults


def main() -> int:
    order = layers()
    makes = {f: (SRC / f / "CMakeLists.txt").read_text() for f in order if (SRC / f / "CMakeLists.txt").exists()}
    uses = {folder: words_of(text, "agentd_library", "USES") for folder, text in makes.items()}
    faults = [f"src/{p.name}: not in the list of the top CMakeLists.txt"
              for p in sorted(SRC.iterdir()) if p.is_dir() and p.name not in order]
    for folder, text in makes.items():
        links = words_of(text, "agentd_test", "LINKS")
        tests = {link.removeprefix("agentd_") for link in links if link.startswith("agentd_")}
        faults += check_folder(folder, order, uses, tests)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
