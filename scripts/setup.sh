#!/usr/bin/env bash
# Installs the Debian 12 packages and npm packages that a set of targets needs and that are not there yet.
# Instant when nothing is missing. Without root or passwordless sudo it says what to run, and exits 1.
#
# usage: scripts/setup.sh [build|test|lint|sanitize|bench|model]...      (none: build test lint)
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A packages=(
  [build]="clang-19 mold ccache cmake ninja-build pkg-config make git g++ python3
    libboost1.81-dev libssl-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libvalijson-dev libyaml-cpp-dev
    liburing-dev libsqlite3-dev libsqlitecpp-dev libcurl4-openssl-dev libcli11-dev libjq-dev libonig-dev libre2-dev"
  [test]="libgtest-dev librapidcheck-dev curl jq openssl"
  [lint]="clang-tidy-19 clang-format-19 shellcheck"
  [sanitize]="libclang-rt-19-dev llvm-19"
  [bench]="libbenchmark-dev wrk libpcre2-8-0"
  [model]="spin gcc clang-19"
)
minimum_node=20

node_major() { node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

# The packages of the sets in "$@" that dpkg does not know as installed.
missing_packages() {
  local wanted=() set
  for set in "$@"; do read -ra names -d '' <<<"${packages[$set]} " || true; wanted+=("${names[@]}"); done
  if [[ " $* " == *" test "* ]] && ! { command -v node && command -v npm; } >/dev/null; then
    wanted+=(nodejs npm)
  fi
  local -A installed=()
  local name state
  while read -r name state; do
    if [[ $state == installed ]]; then installed[$name]=1; fi
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
  for name in "${wanted[@]}"; do
    if [[ -z ${installed[$name]:-} ]]; then echo "$name"; fi
  done
}

can_be_root() { ((EUID == 0)) || sudo -n true 2>/dev/null; }
as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

install_packages() {
  local options=(-y -qq --no-install-recommends -o DPkg::Lock::Timeout=300)
  if ! can_be_root; then
    printf 'setup: missing packages:\n' >&2
    printf '  %s\n' "$@" >&2
    printf 'setup: install them with\n  sudo apt-get install --no-install-recommends %s\n' "$*" >&2
    return 1
  fi
  echo "setup: installing $*"
  as_root apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "$@" >/dev/null
}

# unpack FOLDER PACKAGE...: the files of Debian packages, not installed. To install nginx would start a web server on
# port 80, now and at every boot.
unpack() {
  local folder=$1 scratch
  shift
  if [[ -d $folder ]]; then return; fi
  echo "setup: unpacking $* into $folder"
  scratch=$(mktemp -d)
  if ! download "$scratch" "$@" 2>/dev/null &&
    ! { can_be_root && as_root apt-get -qq update && download "$scratch" "$@"; }; then
    rm -rf "$scratch"
    echo "setup: cannot download $*; 'sudo apt-get update' may help" >&2
    return 1
  fi
  for package in "$scratch"/*.deb; do dpkg-deb -x "$package" "$scratch/unpacked"; done
  mkdir -p "${folder%/*}"
  mv "$scratch/unpacked" "$folder"
  rm -rf "$scratch"
}
download() { (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "${@:2}" >/dev/null); }

# Of proxy.test.mjs.
unpack_nginx() { [[ -x /usr/sbin/nginx ]] || unpack build/nginx nginx; }

# nginx with nchan, a peer of `make bench`, which goes on without. The folders that were compiled in (the length must
# stay) are made those of the prefix that it is started with.
unpack_nchan() {
  local folder=build/peers/nginx
  unpack "$folder" nginx libnginx-mod-nchan || return 0
  sed -i 's#/var/lib/nginx/#./././././././/#g' "$folder"/usr/{sbin/nginx,lib/nginx/modules/ngx_nchan_module.so}
}

# Node packages of the end-to-end tests, when the lock file is newer than what npm last installed from it.
install_node_packages() {
  local folder=tests/e2e
  if [[ ! -f $folder/package-lock.json ]]; then return; fi
  if (($(node_major) < minimum_node)); then
    echo "setup: the end-to-end tests are written for Node.js $minimum_node; this is $(node --version)." \
      "If they fail to start, install a newer one (https://nodejs.org) and put it first on PATH." >&2
  fi
  if [[ $folder/package-lock.json -nt $folder/node_modules/.package-lock.json ]]; then
    echo "setup: npm ci in $folder"
    (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error)
    touch "$folder/node_modules/.package-lock.json"
  fi
}

sets=("$@")
if ((${#sets[@]} == 0)); then sets=(build test lint); fi
for set in "${sets[@]}"; do
  if [[ -z ${packages[$set]:-} ]]; then
    echo "setup: no set '$set'; there are: ${!packages[*]}" >&2
    exit 2
  fi
done

if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(missing_packages "${sets[@]}")
  if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
  if [[ " ${sets[*]} " == *" test "* ]]; then unpack_nginx; fi
elif ! command -v clang++-19 >/dev/null; then
  echo "setup: not a Debian system; install the equivalents of: ${packages[build]}" >&2
  exit 1
fi
if [[ " ${sets[*]} " == *" test "* ]]; then install_node_packages; fi
if [[ " ${sets[*]} " == *" bench "* ]] && command -v apt-get >/dev/null; then unpack_nchan; fi
