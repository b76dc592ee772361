#!/usr/bin/env bash
# Runs the tests of the RADOS driver against a Ceph of their own: a monitor, a manager and three OSDs as plain processes
# in a temporary folder. Installs Debian's packages when they are missing.
# Usage: test/rados/run.sh [--runtime node|bun]
set -euo pipefail
cd "$(dirname "$0")/../.."

runtime=node
if [ "${1:-}" = --runtime ]; then runtime=${2:?node or bun}; fi

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
[ -d "$dist/test/rados" ] || npm run build
file=$(realpath "$dist")/test/rados/rados.test.js
if [ "$runtime" = bun ]; then
  exec node_modules/.bin/bun test --timeout 600000 "$file"
fi
exec node --test --test-timeout 900000 "$file"
