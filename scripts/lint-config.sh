#!/usr/bin/env bash
# Checks the workflows, the action, the template for GitLab and the example for Kubernetes against
# their schemas. The tools are installed once, into the user's cache; they need Go, Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
actionlint=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
python=(check-jsonschema==0.39.0 kubernetes-validate==1.37.0)

hash=$(printf '%s\n' $actionlint "${python[@]}" "$(go env GOVERSION)" | sha256sum | cut -c 1-12)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/lint-config-$hash
if [ ! -x "$dir/actionlint" ]; then
	echo "lint-config.sh: installing actionlint, check-jsonschema and kubernetes-validate (once)" >&2
	python3 -m venv "$dir"
	"$dir/bin/pip" -q --disable-pip-version-check install "${python[@]}"
	GOBIN=$dir GOFLAGS= go install $actionlint
fi
"$dir/actionlint"
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.github-actions action.yml
"$dir/bin/check-jsonschema" -q --builtin-schema vendor.gitlab-ci docs/examples/gitlab.yml
"$dir/bin/kubernetes-validate" --strict docs/examples/kubernetes.yaml >/dev/null
