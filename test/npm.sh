#!/usr/bin/env bash
# Installs the Node packages that the tests need, as the lock files say. It skips
# folders that are up to date. Usage: test/npm.sh [FOLDER...]
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- contracts test/browser/axe test/interop/mcp test/interop/node test/interop/openapi test/interop/x402
for folder in "$@"; do
  mark="$folder/node_modules/.installed"
  sum="$(sha256sum <"$folder/package-lock.json" | cut -d' ' -f1)"
  [ "$(cat "$mark" 2>/dev/null || true)" = "$sum" ] && continue
  echo "installing the Node packages of $folder"
  # contracts: `npm ci` rejects its lock file, which lists builds for one platform only.
  command=ci
  [ "$folder" = contracts ] && command="install --no-save"
  for attempt in 1 2 3; do
    (cd "$folder" && npm $command --ignore-scripts --no-audit --no-fund) && break
    [ "$attempt" = 3 ] && { echo "the Node packages of $folder cannot be installed" >&2; exit 1; }
    sleep $((attempt * 5))
  done
  echo "$sum" >"$mark"
done
