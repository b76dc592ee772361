#!/usr/bin/env bash
# Measures a cluster of gateways on PostgreSQL with a synchronous standby and on Ceph, beside radosgw. Installs Debian's
# packages when they are missing. Usage: bench/cluster/run.sh RUNTIME [ARGUMENT…] with the program and its options
set -euo pipefail

fail() {
  echo "holdfast: $1" >&2
  exit 1
}

programs=(ceph-mon ceph-mgr ceph-osd ceph monmaptool radosgw radosgw-admin setpriv)
server_folder() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
missing() {
  local program
  for program in "${programs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
  [ -n "$(server_folder)" ] || echo postgresql
}

if [ -n "$(missing)" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || fail "not found, and no right to install: $(missing | xargs)"
  packages=(ceph-mon ceph-mgr ceph-osd ceph-common radosgw librados2 postgresql)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || fail "Ceph and PostgreSQL cannot be installed"
  [ -z "$(missing)" ] || fail "the packages were installed but these programs were not found: $(missing | xargs)"
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-bench.XXXXXX")
# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  chown postgres "$folder"
  export HOLDFAST_POSTGRES_AS="setpriv --reuid=postgres --regid=postgres --clear-groups env LC_ALL=C"
fi
cleanup() {
  local file
  for file in "$folder"/*/*/postmaster.pid; do
    if [ -f "$file" ]; then kill -QUIT "$(head -n 1 "$file")" 2>/dev/null || true; fi
  done
  rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

HOLDFAST_POSTGRES_BIN=$(server_folder)
export HOLDFAST_POSTGRES_BIN
export HOLDFAST_POSTGRES_FOLDER="$folder"
"$@"
