#!/usr/bin/env bash
# Every check that needs no running program. All of them run, so that all faults are seen at once.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/dev
failed=0

check() {  # check NAME COMMAND...
  local name=$1 begun=$SECONDS output
  shift
  if output=$("$@" 2>&1); then
    printf 'lint: %-9s ok  (%s s)\n' "$name" $((SECONDS - begun))
  else
    printf '%s\nlint: %-9s FAILED\n' "$output" "$name"
    failed=1
  fi
}

tracked() { git ls-files -z -- "$@"; }
format() {
  local bad
  bad=$(tracked '*.cc' '*.h' | xargs -0 -r clang-format-19 --dry-run -Werror 2>&1 |
    sed -nE 's/:[0-9]+:[0-9]+: error: .*//p' | sort -u)
  if [[ -n $bad ]]; then printf '%s\nnot as clang-format has it: run make format\n' "$bad"; return 1; fi
}
shell() { git grep -lzE '^#!.*\b(ba)?sh\b' -- scripts .ci tests | xargs -0 -r shellcheck -e SC2317; }  # check() calls them by name

check format format
check includes scripts/check_includes.py
check tree scripts/check_tree.py
if [[ -f scripts/check_push_sites.py ]]; then check pushes python3 scripts/check_push_sites.py; fi
check shell shell
check tidy scripts/tidy.py "$build" "${JOBS:-$(nproc)}"
exit $failed
