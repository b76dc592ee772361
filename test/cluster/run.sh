#!/usr/bin/env bash
# Runs a cluster of gateways on PostgreSQL under Patroni and on Ceph, with faults. Installs Debian's packages when they
# are missing. Usage: test/cluster/run.sh [--faults N]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

programs=(ceph-mon ceph-mgr ceph-osd ceph monmaptool patroni etcd)
missing() {
  local program
  for program in "${programs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
  ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || echo postgresql
}

[ "$(id -u)" = 0 ] || skip "the nodes of PostgreSQL run as another user, which only root can arrange"
if [ -n "$(missing)" ]; then
  command -v apt-get >/dev/null || skip "no Ceph and Patroni, and no right to install them"
  packages=(ceph-mon ceph-mgr ceph-osd ceph-common librados2 postgresql patroni etcd-server python3-etcd)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || skip "Ceph and Patroni cannot be installed"
  [ -z "$(missing)" ] || skip "the packages were installed but these programs were not found: $(missing)"
fi
[ -d node_modules/koffi ] || skip "the optional package koffi is not installed"

dist=${HOLDFAST_DIST:-dist}
[ -f "$dist/test/cluster/run.js" ] || npm run build
exec node --enable-source-maps "$(realpath "$dist")/test/cluster/run.js" "$@"
