#!/usr/bin/env bash
# Proves the model of the feed with Spin, then breaks its rules one at a time, and has Spin find the property that falls
# with each: a proof that cannot fail proves nothing. What it leaves is in build/model. See model/README.md.
#
# usage: scripts/model.sh           everything
#        scripts/model.sh RULE      breaks one rule and tells, as short as it can, how the property falls
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
model=$root/model/feed.pml
megabytes=900  # no proof may need more memory

# Each proof: the claim to prove (- for the assertions alone), and the bounds of its state space.
declare -A proofs=(
  [stream]="- -DPUSHES=4 -DREVOCATIONS=1"
  [lives]="- -DPUSHES=3 -DLIVES=3 -DDROPS=0 -DDEADLINES=0"
  [memory]="- -DPUSHES=3 -DLIVES=3 -DDROPS=0 -DDEADLINES=0 -DMEMORY"
  [heard]="heard -DPUSHES=3 -DDROPS=0 -DDEADLINES=1"
  [ended]="ended -DPUSHES=2 -DDROPS=0 -DDEADLINES=1 -DREVOCATIONS=1"
)
# Each rule: the proof that fails without it, and the property by which it does; "cycle" is a claim that does not come true.
declare -A falls=(
  [HONOUR_OLDEST_2]="stream lost"
  [KEEP_LAGGED]="stream lost"
  [ADVANCE_AT_PEEK]="stream lost"
  [ADVANCE_SHORT]="stream repeated"
  [BOOKMARK_NEWEST]="stream lost"
  [GOODBYE_BEFORE_HELLO]="stream disorderly"
  [BEGIN_AT_1]="lives reused"
  [BEGIN_AT_NEXT]="lives stale"
  [IGNORE_CLOCK]="lives reused"
  [IGNORE_BLOCK]="lives reused"
  [LOSE_AT_ONCE]="lives reused stale"
  [IGNORE_REVOKED]="stream leaked"
  [CHECK_BEFORE_PEEK]="stream leaked"
  [CLEAR_AFTER_TURN]="heard cycle"
  [REVOKE_IN_SILENCE]="ended cycle"
)

# One run of Spin in FOLDER, with RULE broken; to the first violation that it comes upon, or to the shortest.
search() {  # search PROOF FOLDER first|shortest [RULE]
  local claim options
  read -r claim options <<<"${proofs[$1]}"
  read -ra options <<<"$options ${4:+-DBREAK=$4}"
  local compile=(-w "-DMEMLIM=$megabytes") run=(-m100000 -w22)
  if [[ $claim == - ]]; then
    compile+=(-DSAFETY -DNOCLAIM)
    if [[ $3 == shortest ]]; then compile+=(-DBFS); fi
  else
    run+=(-a -N "$claim")  # a cycle is not found breadth first
  fi
  rm -rf "$2"
  mkdir -p "$2"
  cd "$2"
  spin -a "${options[@]}" "$model" >spin.log || { cat spin.log; exit 1; }
  clang-19 "${compile[@]}" -o pan pan.c  # unoptimised: to optimise takes longer than it saves
  ./pan "${run[@]}" >log 2>&1 || true
  cd "$root"
}

# What the run found: "nothing", the name of a property, "cycle", or "no verdict" when it was cut short.
verdict() {
  local found
  found=$(sed -nE 's/^pan:1: assertion violated +!\(([a-z]+)\).*/\1/p; s/^pan:1: acceptance cycle.*/cycle/p' "$1/log")
  if [[ -n $found ]]; then
    echo "$found"
  elif grep -q 'errors: 0' "$1/log" && ! grep -qE 'not completed|too small' "$1/log"; then
    echo nothing
  else
    echo "no verdict"
  fi
}

# The story of a violation: what the model prints, with a column each for World, Edge and Client.
tell() {  # tell PROOF FOLDER [RULE]
  local options
  read -ra options <<<"${proofs[$1]#* } ${3:+-DBREAK=$3}"
  (cd "$2" && spin -k "${model##*/}.trail" "${options[@]}" "$model") | sed -nE 's/^ {6}//p'
}

failed=0
report() {  # report NAME OK TEXT
  if [[ $2 == yes ]]; then printf 'model: %-21s ok      %s\n' "$1" "$3"; return; fi
  printf 'model: %-21s FAILED  %s\n' "$1" "$3"
  failed=1
}

prove() {
  local folder=build/model/$1 begun=$SECONDS found states ok=no
  search "$1" "$folder" first
  found=$(verdict "$folder")
  states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' "$folder/log")
  if [[ $found == nothing ]]; then ok=yes; fi
  report "$1" $ok "found $found in $states states, $((SECONDS - begun)) s"
  if [[ $found == nothing ]]; then return; fi
  if [[ -f $folder/${model##*/}.trail ]]; then tell "$1" "$folder"; else cat "$folder/log"; fi
}

refute() {
  local rule=$1 proof properties found ok=no
  read -r proof properties <<<"${falls[$rule]:-none none}"
  if [[ $proof == none ]]; then report "$rule" no "scripts/model.sh does not say what falls with it"; return; fi
  search "$proof" "build/model/$rule" first "$rule"
  found=$(verdict "build/model/$rule")
  if [[ " $properties " == *" $found "* ]]; then ok=yes; fi
  report "$rule" $ok "$proof without it: found $found"
}

# The names in brackets are to be found in the sources, so that the model cannot go its own way unnoticed.
check_names() {
  local name missing=()
  while read -r name; do
    if ! grep -rqw --include='*.h' --include='*.cc' "${name##*::}" src; then missing+=("$name"); fi
  done < <(sed -nE 's|.*//.*\[([A-Za-z_:, ]+)\].*|\1|p' "$model" | sed 's/, /\n/g' | sort -u)
  if ((${#missing[@]} == 0)); then report names yes "all are in src"; else report names no "not in src: ${missing[*]}"; fi
}

scripts/setup.sh model
if (($# > 0)); then
  if [[ -z ${falls[$1]:-} ]]; then echo "model: no rule '$1'; there are: ${!falls[*]}" >&2; exit 2; fi
  proof=${falls[$1]%% *}
  search "$proof" "build/model/$1" shortest "$1"
  tell "$proof" "build/model/$1" "$1"
  echo "model: $1: found $(verdict "build/model/$1")"
  exit
fi

check_names
for proof in stream lives memory heard ended; do prove "$proof"; done
mapfile -t rules < <(sed -nE '/^\/\/ Mutations/,/^#ifndef BREAK/s/^#define ([A-Z_0-9]+) .*/\1/p' "$model")
for rule in "${rules[@]}"; do refute "$rule"; done
exit $failed
