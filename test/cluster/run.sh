#!/usr/bin/env bash
# Runs a cluster of gateways on PostgreSQL under Patroni and on Ceph, with faults. Installs Debian's packages when they
# are missing. Usage: test/cluster/run.sh [--faults N] [--seed N] [--control NAME] [--suite NAME [-- …]]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

programs=(ceph-mon ceph-mgr ceph-osd ceph monmaptool patroni etcd ip nft)
missing() {
  local program
  for program in "${programs[@]}"; do command -v "$program" >/dev/null || echo "$program"; done
  ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || echo postgresql
  ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || echo libfaketime
}

[ "$(id -u)" = 0 ] || skip "network namespaces, and nodes of PostgreSQL under another user, need root"
if [ -n "$(missing)" ]; then
  command -v apt-get >/dev/null || skip "no Ceph and Patroni, and no right to install them"
  packages=(ceph-mon ceph-mgr ceph-osd ceph-common librados2 postgresql patroni etcd-server python3-etcd)
  packages+=(iproute2 nftables libfaketime)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || skip "Ceph and Patroni cannot be installed"
  [ -z "$(missing)" ] || skip "the packages were installed but these programs were not found: $(missing)"
fi
[ -d node_modules/koffi ] || skip "the optional package koffi is not installed"

# All processes, interfaces and mounts of the run end with it, however it ends.
apart=(unshare --net --mount --pid --fork --kill-child --mount-proc)
"${apart[@]}" sh -c 'ip link add bridge type bridge && nft list ruleset' >/dev/null 2>&1 ||
  skip "this kernel or container does not allow network namespaces with a bridge and nftables"

dist=${HOLDFAST_DIST:-dist}
[ -f "$dist/test/cluster/run.js" ] || npm run build
for old in "${TMPDIR:-/tmp}"/holdfast-cluster-run.*; do
  # A run that is under way holds the lock of its folder.
  if [ -e "$old" ] && flock --nonblock "$old" true; then echo "an earlier run left $old behind; its logs are there"; fi
done
# Other suites need no hosts of their own, and may install clients.
if [[ " $* " == *" --suite "* ]]; then apart=(unshare --mount --pid --fork --kill-child --mount-proc); fi
folder=$(mktemp -d --tmpdir holdfast-cluster-run.XXXXXX)
# PostgreSQL runs as another user.
chmod 755 "$folder"
exec 9<"$folder"
flock 9
inside='mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && "$@"'
if TMPDIR=$folder "${apart[@]}" sh -c "$inside" sh node --enable-source-maps "$(realpath "$dist")/test/cluster/run.js" "$@"
then
  rm -rf "$folder"
else
  code=$?
  echo "the logs of gateways, PostgreSQL and Ceph are in $folder"
  exit "$code"
fi
