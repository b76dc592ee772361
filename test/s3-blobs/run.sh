#!/usr/bin/env bash
# Runs the blob driver over S3, and servers on it, against S3 servers in processes of their own: another Holdfast, and
# versitygw, which Go builds once into a cache folder. HOLDFAST_VERSITYGW names a program that is there already.
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

dist=${HOLDFAST_DIST:-dist}
[ -d "$dist/test/s3-blobs" ] || npm run build
node --test "$(realpath "$dist")"/test/s3-blobs/*.test.js
