#!/usr/bin/env bash
# Finds or builds the servers that Holdfast is compared with, into a cache folder, and runs the command that follows.
# HOLDFAST_VERSITYGW, HOLDFAST_MINIO, HOLDFAST_GARAGE and HOLDFAST_NGINX name programs that are there already.
# Usage: bench/peers/run.sh RUNTIME [ARGUMENT…] with the program and its options
set -euo pipefail

versitygw_version=v1.8.0
minio_version=v0.0.0-20260212201848-7aac2a2c5b7c
garage_version=2.5.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast-bench

missing=()
for program in wrk nginx strace; do
  command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >/dev/null 2>&1 || echo "not installed: ${missing[*]}" >&2
fi
if ! command -v wrk >/dev/null; then
  echo "holdfast: wrk is needed to measure reads" >&2
  exit 1
fi

# A module of its own may build a program whose module has replacements, which go install refuses.
build_go() { # package version program
  command -v go >/dev/null || return 0
  local folder
  folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-bench.XXXXXX")
  echo "building $1 $2" >&2
  (
    cd "$folder"
    printf 'module build\n\ngo 1.24\n' >go.mod
    export GOFLAGS=-mod=mod
    go get "$1@$2" && go build -trimpath -ldflags '-s -w' -o "$3" "$1"
  ) >"$folder/log" 2>&1 || { tail -n 3 "$folder/log" >&2; echo "$1 could not be built" >&2; }
  rm -rf "$folder"
}

provide() { # variable version program build…
  local variable=$1 version=$2 program=$3
  shift 3
  [ -n "${!variable:-}" ] && return
  [ -x "$program" ] || "$@"
  if [ -x "$program" ]; then export "$variable=$program" "${variable}_VERSION=$version"; fi
}

build_garage() {
  command -v cargo >/dev/null || return 0
  echo "building garage $garage_version" >&2
  cargo install --quiet --locked --root "$cache/garage-$garage_version" "garage@$garage_version" >&2 || true
}

versitygw=$cache/versitygw-$versitygw_version/versitygw
minio=$cache/minio-$minio_version/minio
garage=$cache/garage-$garage_version/bin/garage
provide HOLDFAST_VERSITYGW "$versitygw_version" "$versitygw" \
  build_go github.com/versity/versitygw/cmd/versitygw "$versitygw_version" "$versitygw"
provide HOLDFAST_MINIO "${minio_version:7:8}" "$minio" build_go github.com/minio/minio "$minio_version" "$minio"
provide HOLDFAST_GARAGE "$garage_version" "$garage" build_garage
nginx=$(command -v nginx || echo /usr/sbin/nginx)
if [ -z "${HOLDFAST_NGINX:-}" ] && [ -x "$nginx" ]; then export HOLDFAST_NGINX=$nginx; fi
if [ -n "${HOLDFAST_NGINX:-}" ]; then
  HOLDFAST_NGINX_VERSION=$("$HOLDFAST_NGINX" -v 2>&1 | sed 's#.*/##')
  export HOLDFAST_NGINX_VERSION
fi

exec "$@"
