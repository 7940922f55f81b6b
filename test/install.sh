#!/usr/bin/env bash
# Installs what the tests need besides Go, and does nothing if it is installed:
# PostgreSQL, Chromium, Node, HAProxy, nginx, curl, jq and Python from Debian's packages, and the Node
# packages of the lock files.
set -euo pipefail

missing=()
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
command -v chromium >/dev/null || missing+=(chromium)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || missing+=(haproxy)
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
command -v curl >/dev/null || missing+=(curl)
command -v jq >/dev/null || missing+=(jq)
command -v python3 >/dev/null || missing+=(python3)
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
npm_packages() { exec bash "$(dirname "$0")/npm.sh"; }
[ ${#missing[@]} -eq 0 ] && npm_packages

command -v apt-get >/dev/null || { echo "please install: ${missing[*]}" >&2; exit 1; }
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
# The packaged servers are not to be started: the tests start their own.
$sudo mkdir -p /etc/postgresql-common
echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
$sudo env RUNLEVEL=1 apt-get install -y -q --no-install-recommends "${missing[@]}"
npm_packages
