#!/usr/bin/env bash
# Checks a program for memory regressions in a CI job: runs nightly.sh, and adds report.html and an
# archive of the snapshots to its reports. The GitHub Action (action.yml) and the template for GitLab
# (docs/examples/gitlab.yml) run it. It takes no arguments; these variables are its settings:
#
#   HEAPLAPSE_COMMAND    the command to record; it is given to bash -c
#   HEAPLAPSE_SNAPSHOTS  instead of a command: snapshots that an earlier step took
#   HEAPLAPSE_OUT        the directory of the reports (default heap-night); those of an earlier night are
#                        removed
#   HEAPLAPSE_POOL, HEAPLAPSE_KEEP, HEAPLAPSE_EVERY, HEAPLAPSE_ENGINE, HEAPLAPSE_WORKLOAD
#                        the options of nightly.sh
#   HEAPLAPSE            the heaplapse to use (default: the one in PATH, else it is built from this
#                        checkout with Go)
#
# Under GitHub Actions it also writes the outputs of the step: verdict (good, regressed or none), out,
# sarif, report. Exit status: that of nightly.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${HEAPLAPSE_OUT:-heap-night}

say() { printf 'ci.sh: %s\n' "$*" >&2; }

# tool prints the heaplapse to use.
tool() {
	local built=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/heaplapse-bin/heaplapse
	if [ -n "${HEAPLAPSE:-}" ]; then
		echo "$HEAPLAPSE"
	elif command -v heaplapse >/dev/null; then
		command -v heaplapse
	else
		say "building heaplapse"
		CGO_ENABLED=0 go build -C "$here/.." -o "$built" ./cmd/heaplapse
		echo "$built"
	fi
}

# output NAME VALUE sets an output of the step. The delimiter cannot be a line of the value, because it
# is chosen at random.
output() {
	[ -n "${GITHUB_OUTPUT:-}" ] || return 0
	local delimiter
	delimiter=end-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"$GITHUB_OUTPUT"
}

# file NAME prints the path of a report, or nothing if it was not written.
file() { [ ! -e "$out/$1" ] || echo "$out/$1"; }

# reports adds the page and the archive. A failure does not change the verdict.
reports() {
	local snapshots=${HEAPLAPSE_SNAPSHOTS:-$out/snapshots}
	[ -e "$snapshots" ] || return 0
	"$HEAPLAPSE" report -q "$snapshots" -o "$out/report.html" || say "report.html could not be written"
	"$HEAPLAPSE" bundle -q "$snapshots" -o "$out/snapshots.heaplapse.tar.zst" >/dev/null || say "the snapshots could not be packed"
}

main() {
	local options=(--out "$out") name value
	for name in POOL KEEP EVERY ENGINE WORKLOAD SNAPSHOTS; do
		value=HEAPLAPSE_$name
		[ -z "${!value:-}" ] || options+=("--${name,,}" "${!value}")
	done
	[ -z "${HEAPLAPSE_COMMAND:-}" ] || options+=(-- bash -c "$HEAPLAPSE_COMMAND")
	HEAPLAPSE=$(tool)
	export HEAPLAPSE

	local status=0 verdicts=(good regressed none)
	rm -f "$out/report.html" "$out/snapshots.heaplapse.tar.zst"
	"$here/nightly.sh" "${options[@]}" || status=$?
	[ "$status" -le 2 ] || status=2
	reports
	output verdict "${verdicts[$status]}"
	output out "$out"
	output sarif "$(file gate.sarif)"
	output report "$(file report.html)"
	return "$status"
}

[ $# = 0 ] || { say "unexpected argument $1: the settings are variables"; exit 2; }
main
