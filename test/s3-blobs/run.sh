#!/usr/bin/env bash
# Runs the blob driver over S3, and servers on it, against S3 servers in processes of their own: another Holdfast,
# radosgw on a small Ceph, which Debian's packages install, and versitygw, which Go builds once into a cache folder.
# HOLDFAST_VERSITYGW names a versitygw that is there already.
# Usage: test/s3-blobs/run.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

version=v1.8.0
program=${HOLDFAST_VERSITYGW:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast-tests/versitygw-$version/versitygw}
if [ ! -x "$program" ] && command -v go >/dev/null; then
  echo "building versitygw $version"
  GOBIN=$(dirname "$program") GOFLAGS= timeout 900 go install "github.com/versity/versitygw/cmd/versitygw@$version" \
    || echo "versitygw could not be built"
fi
if [ -x "$program" ]; then
  export HOLDFAST_VERSITYGW=$program
else
  unset HOLDFAST_VERSITYGW
fi

has_ceph() {
  local one
  for one in ceph-mon ceph-mgr ceph-osd ceph monmaptool radosgw radosgw-admin; do
    command -v "$one" >/dev/null || return 1
  done
}

if ! has_ceph && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  packages=(ceph-mon ceph-mgr ceph-osd ceph-common radosgw)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || echo "Ceph could not be installed"
fi
if has_ceph; then export HOLDFAST_RADOSGW=1; fi

dist=${HOLDFAST_DIST:-dist}
[ -d "$dist/test/s3-blobs" ] || npm run build
node --test --test-timeout 1200000 "$(realpath "$dist")"/test/s3-blobs/*.test.js
