#!/usr/bin/env bash
# The console in a real Chromium against a real server. Installs Debian's browser when there is none. Screenshots of every
# page are written to dist/console-shots.
# Usage: test/console/run.sh [dist/test/console/flows/NAME.js...]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "no Chromium, and no right to install it"
  packages=(chromium fonts-dejavu-core)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } \
    >/dev/null 2>&1 || skip "Chromium cannot be installed"
  browser=$(command -v chromium) || skip "Chromium was installed but not found"
fi

npm run --silent build
export CHROMIUM=$browser
flows=("$@")
[ ${#flows[@]} -gt 0 ] || flows=(dist/test/console/flows/*.js)
exec node --enable-source-maps --test --test-concurrency=2 "${flows[@]}"
