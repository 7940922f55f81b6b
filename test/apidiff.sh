#!/usr/bin/env bash
# Compares the API of the public packages with the last tagged version and prints
# the incompatible changes. From version 1 on they fail. Before, only those fail
# that the section Unreleased of CHANGELOG.md does not name.
set -euo pipefail

tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || {
	echo "apidiff: no version is tagged yet, so there is nothing to compare"
	exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old"
git archive "$tag" | tar -x -C "$work/old"
module=$(go list -m)
quietly() { "$@" 2> >(grep -v '^Ignoring internal' >&2); }
(cd "$work/old" && quietly apidiff -m -w "$work/old.export" "$module")
quietly apidiff -m -w "$work/new.export" "$module"

quietly apidiff -m -incompatible "$work/old.export" "$work/new.export" >"$work/changes"
# Programs, tests and examples have no importers.
sed -n "s|^- package $module/|- ./|; /^- /p" "$work/changes" | grep -Ev '^- \./(bench|cmd|examples|test)[./:]' >"$work/public" || true
if [ ! -s "$work/public" ]; then
	echo "apidiff: compatible with $tag"
	exit 0
fi
echo "apidiff: incompatible with $tag:"
cat "$work/public"
[[ $tag == v0.* ]] || exit 1

awk '/^## /{on = /Unreleased/} on' CHANGELOG.md >"$work/unreleased"
unnamed=0
while IFS= read -r change; do
	name=${change#- ./} # a package, or package.Name.Field
	name=${name%%:*}
	name=${name##*.}
	if ! grep -qw -- "$name" "$work/unreleased"; then
		echo "apidiff: CHANGELOG.md does not say what replaces $name (${change#- })"
		unnamed=1
	fi
done <"$work/public"
exit "$unnamed"
