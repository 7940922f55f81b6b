#!/usr/bin/env bash
# Runs each fuzz target of the module for a while: test/fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
for_each=${1:-30s}
while IFS=: read -r file target; do
	echo "== ${file%/*} $target"
	# Minimizing a large interesting input can take the whole time; it is not needed to find faults.
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_each" -fuzzminimizetime 0x "./${file%/*}"
done < <(git grep -oE '^func (Fuzz[A-Za-z0-9_]+)' -- '*_test.go' | sed 's/func //')
