#!/usr/bin/env bash
# Builds the site of the manual in out/site. A link or an anchor that does not exist fails. mkdocs is installed once,
# into the user's cache; that needs Python 3 and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$(scripts/venv.sh site -r scripts/site/requirements.txt)
export NO_MKDOCS_2_WARNING=1 # an advertisement
# With --quiet, --strict would not see the warnings.
"$venv/bin/mkdocs" build --strict --config-file scripts/site/mkdocs.yml 2>&1 | sed '/^INFO /d' >&2
echo "out/site/index.html"
