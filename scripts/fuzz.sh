#!/usr/bin/env bash
# Runs every fuzz target of build/fuzz for a while. Seeds: fuzz/corpus/<name>; what a run adds stays in
# build/fuzz/corpus/<name>, so that the next run goes on from it. An input that fails is build/fuzz/<name>-crash-….
#
# usage: scripts/fuzz.sh SECONDS [NAME]...       (none: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift

export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
names=("$@")
if ((${#names[@]} == 0)); then
  for target in build/fuzz/fuzz_*; do
    if [[ -x $target ]]; then names+=("${target#build/fuzz/fuzz_}"); fi
  done
fi

failed=0
for name in "${names[@]}"; do
  mkdir -p "build/fuzz/corpus/$name"
  folders=("build/fuzz/corpus/$name")
  if [[ -d fuzz/corpus/$name ]]; then folders+=("fuzz/corpus/$name"); fi
  log=build/fuzz/$name.log
  if "build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "${folders[@]}" >"$log" 2>&1; then
    printf 'fuzz: %-16s ok, %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    tail -n 40 "$log"
    printf 'fuzz: %-16s FAILED; the whole log is %s\n' "$name" "$log"
    failed=1
  fi
done
if ((${#names[@]} == 0)); then echo "fuzz: no targets"; fi
exit $failed
