#!/usr/bin/env bash
# Runs the tests of the PostgreSQL driver against a server of their own: a new cluster in a temporary folder, with
# fsync on, stopped and removed at the end. Installs Debian's package when there is no server.
# Usage: test/postgres/run.sh [--runtime node|bun] [-- COMMAND…], which runs instead of the tests
set -euo pipefail
cd "$(dirname "$0")/../.."

runtime=node
if [ "${1:-}" = --runtime ]; then runtime=${2:?node or bun}; fi
instead=()
if [ "${1:-}" = -- ]; then instead=("${@:2}"); fi

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

server_folder() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
  if [ -n "$found" ] && [ -x "$found/initdb" ]; then echo "$found"; fi
}

bin=$(server_folder)
if [ -z "$bin" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "no PostgreSQL server, and no right to install one"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } \
    >/dev/null 2>&1 || skip "PostgreSQL cannot be installed"
  bin=$(server_folder)
  [ -n "$bin" ] || skip "PostgreSQL was installed but its programs were not found"
fi

# One test puts a load balancer before gateways.
if ! command -v haproxy >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends haproxy; } \
    >/dev/null 2>&1 || echo "HAProxy cannot be installed"
fi

# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  id postgres >/dev/null 2>&1 || skip "there is no user to run PostgreSQL as"
  as_server() { setpriv --reuid=postgres --regid=postgres --clear-groups env LC_ALL=C "$@"; }
else
  as_server() { env LC_ALL=C "$@"; }
fi

# Below 32768, where the kernel gives out no ports by itself.
free_port() {
  local port
  for port in $(shuf -i 20000-32000 -n 50); do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-postgres.XXXXXX")
if [ "$(id -u)" = 0 ]; then chown postgres "$folder"; fi
chmod 700 "$folder"
cleanup() {
  as_server "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap cleanup EXIT

port=$(free_port)
as_server "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1 \
  || { cat "$folder/initdb.log"; skip "initdb failed"; }
cat >>"$folder/data/postgresql.conf" <<CONF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
fsync = on
full_page_writes = on
synchronous_commit = on
max_connections = 60
CONF
as_server "$bin/pg_ctl" -D "$folder/data" -l "$folder/data/server.log" -w start >/dev/null \
  || { cat "$folder/data/server.log"; exit 1; }

export HOLDFAST_POSTGRES_BIN="$bin"
export HOLDFAST_POSTGRES_FOLDER="$folder"
export HOLDFAST_POSTGRES_URL="postgres://postgres@127.0.0.1:$port/postgres"
# A crash and a new start, as a test can ask for it.
cat >"$folder/restart.sh" <<RESTART
#!/bin/sh
exec ${bin}/pg_ctl -D '$folder/data' -l '$folder/data/server.log' -m immediate -w restart >/dev/null 2>&1
RESTART
chmod 755 "$folder/restart.sh"
if [ "$(id -u)" = 0 ]; then
  drop_rights="setpriv --reuid=postgres --regid=postgres --clear-groups env LC_ALL=C"
  export HOLDFAST_POSTGRES_AS="$drop_rights"
  export HOLDFAST_POSTGRES_RESTART="$drop_rights sh $folder/restart.sh"
else
  export HOLDFAST_POSTGRES_RESTART="sh $folder/restart.sh"
fi

if [ "${#instead[@]}" -gt 0 ]; then
  "${instead[@]}"
  exit
fi

dist=${HOLDFAST_DIST:-dist}
[ -d "$dist/test/postgres" ] || npm run build
# One file after the other: one of them crashes the server that all of them use.
for file in "$(realpath "$dist")"/test/postgres/*.test.js; do
  if [ "$runtime" = bun ]; then
    node_modules/.bin/bun test --timeout 600000 "$file"
  else
    node --test --test-timeout=600000 "$file"
  fi
done
