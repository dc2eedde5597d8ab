#!/usr/bin/env bash
# Prints where the files of a release come from: an in-toto statement with a SLSA provenance (v1) about
# the files that SHA256SUMS lists. It is not signed; the workflow lets GitHub sign one about the same
# files. COMMIT, VERSION and SOURCE_DATE_EPOCH are variables.
#
# Usage: provenance.sh SHA256SUMS
set -euo pipefail
sums=${1:?usage: provenance.sh SHA256SUMS}
: "${COMMIT:?}" "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}"
source=https://github.com/heaplapse/heaplapse
builder=$source/blob/main/scripts/dist/release.sh # a person's machine
if [ -n "${GITHUB_WORKFLOW_REF:-}" ]; then
	builder=$GITHUB_SERVER_URL/$GITHUB_WORKFLOW_REF
fi
commit=${COMMIT%, modified} annotations=
[ "$commit" = "$COMMIT" ] || annotations=', "annotations": {"modified": true}'
subjects=$(awk '{printf "%s\n  {\"name\": \"%s\", \"digest\": {\"sha256\": \"%s\"}}", separator, $2, $1; separator = ","}' "$sums")
cat <<END
{"_type": "https://in-toto.io/Statement/v1",
 "subject": [$subjects],
 "predicateType": "https://slsa.dev/provenance/v1",
 "predicate": {
  "buildDefinition": {
   "buildType": "$source/blob/main/scripts/dist/dist.sh",
   "externalParameters": {"version": "$VERSION"},
   "internalParameters": {"SOURCE_DATE_EPOCH": "$SOURCE_DATE_EPOCH"},
   "resolvedDependencies": [
    {"uri": "git+$source", "digest": {"gitCommit": "$commit"}$annotations},
    {"uri": "https://go.dev/dl", "annotations": {"version": "$(go env GOVERSION)"}}]},
  "runDetails": {"builder": {"id": "$builder"}}}}
END
