#!/usr/bin/env bash
# Checks a program for memory regressions every night: records a run of the program, compares it
# with the baseline set (earlier good runs), and adds it to the baseline set if it is good.
# This is a complete example: copy it and change what you need.
#
# Usage: nightly.sh [OPTIONS] -- CMD [ARG…]
#        nightly.sh [OPTIONS] --snapshots PATH      judge snapshots that were taken already
#        nightly.sh --print github|gitlab|cron      print how to start this script every night
#
#   --pool DIR       the baseline set, one small file per run (default heap-baselines);
#                    keep it between nights
#   --out DIR        where the snapshots and reports of this night go (default heap-night);
#                    those of an earlier night are removed from it
#   --keep N         number of runs in the baseline set (default 14; with 4 or more the gate can
#                    estimate the noise)
#   --every TIME     time between snapshots (default 1s; take 12 snapshots or more)
#   --engine NAME    tcmalloc traces every allocation and is slow; jemalloc samples and is cheap
#                    (default tcmalloc)
#   --workload NAME  the workload; runs of different workloads are not comparable
#                    (default: the command line)
#
# Exit status: 0 the run is good; 1 a function regressed; 2 no verdict: the program failed, or the
# runs are not comparable. HEAPLAPSE is the heaplapse to use. Thresholds and suppressions are read
# from heaplapse.yaml in the working directory.
#
# To accept a regression: a run that failed is not added to the baseline set, so the next nights
# fail too. Suppress the regression in heaplapse.yaml, with a reason and a date two weeks ahead.
# The next nights pass, and after some of them the baseline set has the new level. Then choose a
# new reference run for slow drift: heaplapse baseline list DIR; heaplapse baseline pin DIR NAME.
set -euo pipefail

heaplapse=${HEAPLAPSE:-heaplapse}
pool=heap-baselines out=heap-night keep=14 every=1s engine=tcmalloc snapshots='' workload=()

say() { printf 'nightly.sh: %s\n' "$*" >&2; }

# no_verdict MESSAGE ends the script with status 2.
no_verdict() {
	say "no verdict: $*"
	exit 2
}

# print_example NAME prints how a CI system starts this script. Each example keeps the baseline set
# for the next night, but only after a good night, and shows the reports.
print_example() {
	case $1 in
	github)
		cat <<'END'
# .github/workflows/heap.yml
name: heap
on:
  schedule:
    - cron: "17 3 * * *"
  workflow_dispatch: {}
permissions:
  contents: read
  security-events: write # for code scanning
jobs:
  nightly:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-go@v5
        with: {go-version: stable}
      - run: sudo apt-get update && sudo apt-get install -y libgoogle-perftools4
      - run: go install github.com/heaplapse/heaplapse/cmd/heaplapse@latest
      - run: make server # your program, with -g
      - uses: actions/cache@v4 # saves after the last step, and only if all steps passed
        with:
          path: heap-baselines
          key: heap-baselines-${{ github.run_id }}
          restore-keys: heap-baselines-
      - run: scripts/nightly.sh --workload replay -- ./server --replay traffic.log
      - uses: github/codeql-action/upload-sarif@v3
        if: ${{ !cancelled() && hashFiles('heap-night/gate.sarif') != '' }}
        with: {sarif_file: heap-night/gate.sarif, category: heaplapse}
      - uses: actions/upload-artifact@v4
        if: ${{ !cancelled() }}
        with: {name: heap-night, path: heap-night}
END
		;;
	gitlab)
		cat <<'END'
# .gitlab-ci.yml; add a schedule under Build > Pipeline schedules
heap:
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
  script:
    - make server # your program, with -g
    - scripts/nightly.sh --workload replay -- ./server --replay traffic.log
  cache: # saved only after a good night
    key: heap-baselines
    paths: [heap-baselines/]
    when: on_success
  artifacts:
    when: always
    expire_in: 30 days
    paths: [heap-night/]
    reports:
      junit: heap-night/gate.xml
END
		;;
	cron)
		cat <<'END'
# crontab -e: cron mails the output, so a good night prints nothing
17 3 * * * cd /srv/shop && log=$(mktemp) && { scripts/nightly.sh --out "heap-$(date +\%F)" -- ./server --replay traffic.log >"$log" 2>&1 || cat "$log"; rm -f "$log"; }
END
		;;
	*) no_verdict "--print $1: want github, gitlab or cron" ;;
	esac
}

while [ $# -gt 0 ]; do
	case $1 in -h | --help)
		sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
		exit
		;;
	esac
	[ "$1" = -- ] || [ $# -gt 1 ] || no_verdict "$1 needs a value; see nightly.sh --help"
	case $1 in
	--pool) pool=$2 ;;
	--out) out=$2 ;;
	--keep) keep=$2 ;;
	--every) every=$2 ;;
	--engine) engine=$2 ;;
	--workload) workload=(--workload "$2") ;;
	--snapshots) snapshots=$2 ;;
	--print)
		print_example "$2"
		exit
		;;
	--) break ;;
	*) no_verdict "unknown option $1; see nightly.sh --help" ;;
	esac
	shift 2
done
[ "${1:-}" = -- ] && shift
[ $# -gt 0 ] || [ -n "$snapshots" ] || no_verdict "no command: nightly.sh -- CMD [ARG…]"
[ $# = 0 ] || [ -z "$snapshots" ] || no_verdict "--snapshots and a command: want one of them"
[ -z "$snapshots" ] || [ -e "$snapshots" ] || no_verdict "--snapshots $snapshots does not exist"

# Two nights at once would change the baseline set while the other one reads it.
mkdir -p "$(dirname "$pool")"
exec 9>"$pool.lock"
if command -v flock >/dev/null; then
	flock -n 9 || no_verdict "another night is still running (it holds $pool.lock)"
fi

# --- record: the program's own output is passed through ---
mkdir -p "$out"
rm -f "$out"/gate.{json,md,xml,sarif,pb.gz}
if [ -z "$snapshots" ]; then
	snapshots=$out/snapshots
	status=0
	"$heaplapse" record --or-fail --replace --engine "$engine" --every "$every" -o "$snapshots" -- "$@" 9>&- || status=$?
	[ "$status" = 0 ] || no_verdict "the program ended with status $status; its snapshots are in $snapshots"
fi

# good_night [FLAG…] adds the run to the baseline set, with the commit as a label, and removes the
# oldest.
good_night() {
	local commit
	commit=${GITHUB_SHA:-${CI_COMMIT_SHA:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}}
	"$heaplapse" baseline save "$pool" "$snapshots" "${workload[@]}" --label "commit=$commit" "$@" >/dev/null
	"$heaplapse" baseline prune "$pool" --keep "$keep" >/dev/null
}

# --- gate: text for the log, and a file for each tool that reads reports ---
status=0
"$heaplapse" gate --baseline "$pool" --current "$snapshots" "${workload[@]}" -o text=- -o json="$out/gate.json" \
	-o markdown="$out/gate.md" -o junit="$out/gate.xml" -o sarif="$out/gate.sarif" -o pprof="$out/gate.pb.gz" || status=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$out/gate.md" ]; then
	cat "$out/gate.md" >>"$GITHUB_STEP_SUMMARY"
fi

# The first night becomes the reference run for slow drift.
pin=(--pin)
! compgen -G "$pool/*.baseline.json.gz" >/dev/null || pin=()
case $status in
0) good_night "${pin[@]}" || no_verdict "the run is good, but could not be saved" ;;
1)
	say "a function regressed; the snapshots and all reports are in $out. For details: go tool pprof -http=: $out/gate.pb.gz"
	say "the next night replaces them; to keep the snapshots: heaplapse bundle $snapshots"
	;;
*) no_verdict "heaplapse gate ended with status $status: see above" ;;
esac
exit "$status"
