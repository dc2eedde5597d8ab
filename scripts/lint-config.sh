#!/usr/bin/env bash
# Checks the workflows, the action, the template for GitLab and the examples for Kubernetes and systemd
# against their schemas. The tools are installed once, into the user's cache; they need Go, Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
actionlint=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
dir=$(scripts/venv.sh "lint-config-${actionlint##*@}-$(go env GOVERSION)" check-jsonschema==0.39.0 kubernetes-validate==1.37.0)
[ -x "$dir/actionlint" ] || GOBIN=$dir GOFLAGS= go install $actionlint
"$dir/actionlint"
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-actions action.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[^c]*.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.gitlab-ci docs/examples/gitlab.yml
"$dir/bin/kubernetes-validate" --strict docs/examples/kubernetes.yaml docs/examples/fleet.yaml >/dev/null
if command -v systemd-analyze >/dev/null; then
	units=$(mktemp -d)
	trap 'rm -rf "$units"' EXIT
	for unit in docs/examples/*.service docs/examples/*.timer; do
		# The command need not be installed where this runs.
		sed 's,/usr/bin/heaplapse,/bin/true,' "$unit" >"$units/$(basename "$unit")"
	done
	systemd-analyze verify --man=no "$units"/heaplapse-export@shop.service "$units"/heaplapse-export@shop.timer "$units"/heaplapse-compact.*
elif [ "${CI:-}" = true ]; then
	echo "lint-config.sh: systemd-analyze is missing: install the package systemd" >&2
	exit 1
else
	echo "lint-config.sh: no systemd-analyze: the units in docs/examples are not checked" >&2
fi
