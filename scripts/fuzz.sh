#!/usr/bin/env bash
# Runs the fuzz targets of build/fuzz, each for SECONDS, JOBS of them at a time (one per processor), and says how many
# inputs each ran and how much of the code they reached (edges). Begins with fuzz/corpus/<name> and fuzz/<name>.dict;
# what a run adds stays in build/fuzz/corpus/<name>, and the next one goes on from there. A crash, a leak or an input that
# takes 10 s is a failure: the input that did it is named, and `build/fuzz/fuzz_<name> <input>` runs it again.
#
# usage: scripts/fuzz.sh SECONDS [NAME]...       (none: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=$1
shift

export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
names=("$@")
if ((${#names[@]} == 0)); then
  for target in build/fuzz/fuzz_*; do
    if [[ -f $target && -x $target ]]; then names+=("${target#build/fuzz/fuzz_}"); fi
  done
fi

fuzz() {
  local name=$1 log=build/fuzz/$1.log options=() corpus=("build/fuzz/corpus/$1")
  mkdir -p "${corpus[0]}"
  if [[ -d fuzz/corpus/$name ]]; then corpus+=("fuzz/corpus/$name"); fi
  if [[ -f fuzz/$name.dict ]]; then options+=("-dict=fuzz/$name.dict"); fi
  if "build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "${options[@]}" "${corpus[@]}" >"$log" 2>&1; then
    printf 'fuzz: %-14s ok, %9s inputs, %5s edges\n' "$name" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1)"
  else
    tail -n 40 "$log"
    printf 'fuzz: %-14s FAILED on %s; the whole log is %s\n' "$name" \
      "$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)" "$log"
    return 1
  fi
}
export -f fuzz

if ((${#names[@]} == 0)); then
  echo "fuzz: no targets in build/fuzz" >&2
  exit 1
fi
printf '%s\0' "${names[@]}" | xargs -0 -P "${JOBS:-$(nproc)}" -I{} bash -c 'fuzz {}'
