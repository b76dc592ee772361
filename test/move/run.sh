#!/usr/bin/env bash
# Moves a store from LMDB and files to PostgreSQL and RADOS while clients write: a Ceph and a PostgreSQL of its own, as
# plain processes in temporary folders. Installs Debian's packages when they are missing.
# Usage: test/move/run.sh [--objects N]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

programs=(ceph-mon ceph-mgr ceph-osd ceph monmaptool)
missing() {
  local program
  for program in "${programs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
}

if [ -n "$(missing)" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "no Ceph, and no right to install it"
  packages=(ceph-mon ceph-mgr ceph-osd ceph-common librados2)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || skip "Ceph cannot be installed"
  [ -z "$(missing)" ] || skip "Ceph was installed but these programs were not found: $(missing)"
fi
[ -d node_modules/koffi ] || skip "the optional package koffi is not installed"

dist=${HOLDFAST_DIST:-dist}
[ -d "$dist/test/move" ] || npm run build
exec bash test/postgres/run.sh -- node "$(realpath "$dist")/test/move/run.js" "$@"
