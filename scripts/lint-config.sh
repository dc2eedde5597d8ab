#!/usr/bin/env bash
# Checks the workflows, the action, the template for GitLab and the example for Kubernetes against
# their schemas. The tools are installed once, into the user's cache; they need Go, Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
actionlint=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
dir=$(scripts/venv.sh "lint-config-${actionlint##*@}-$(go env GOVERSION)" check-jsonschema==0.39.0 kubernetes-validate==1.37.0)
[ -x "$dir/actionlint" ] || GOBIN=$dir GOFLAGS= go install $actionlint
"$dir/actionlint"
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-actions action.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.gitlab-ci docs/examples/gitlab.yml
"$dir/bin/kubernetes-validate" --strict docs/examples/kubernetes.yaml >/dev/null
