#!/usr/bin/env bash
# A nightly check for memory regressions, complete: runs a program under the recorder, compares the run with the last good nights, and
# keeps it as one of them if it is good. Copy it, and change what you need.
#
# Usage: nightly.sh [--pool DIR] [--out DIR] [--keep N] [--every TIME] [--engine NAME] [--workload NAME] -- CMD [ARG…]
#        nightly.sh --print github|gitlab|cron      how to start it every night
#
#   --pool DIR       the good nights before, one small file each (default heap-baselines); keep it from night to night
#   --out DIR        what this night leaves: snapshots and reports (default heap-night, which must not be there yet)
#   --keep N         good nights to keep (default 14; the gate needs 4 to know the noise between nights)
#   --every TIME     time between snapshots (default 1s; 12 snapshots or more make a steady level)
#   --engine NAME    tcmalloc: every allocation, exact and slow; jemalloc: samples, cheap (default tcmalloc)
#   --workload NAME  what the program is asked to do; runs of different workloads do not compare (default: the command line)
#
# Exit status: 0 the night is good; 1 a function regressed; 2 there is no verdict: the program failed, or nothing compares.
# HEAPLAPSE names the heaplapse to use. Thresholds and suppressions stand in heaplapse.yaml in the working directory.
#
# A regression is wanted? A night that failed does not become one of the good ones, so the next nights fail too. Suppress it in
# heaplapse.yaml, with a reason and a date two weeks ahead: then nights pass, and after some of them the pool
# has the new level. Then measure slow drift against a night of now: heaplapse baseline list DIR; heaplapse baseline pin DIR NAME.
set -euo pipefail

heaplapse=${HEAPLAPSE:-heaplapse}
pool=heap-baselines out=heap-night keep=14 every=1s engine=tcmalloc workload=()

say() { printf 'nightly.sh: %s\n' "$*" >&2; }

# no_verdict MESSAGE: neither good nor bad.
no_verdict() {
	say "no verdict: $*"
	exit 2
}

# print_example NAME: how CI systems start this script. Each keeps the pool where the next night finds it, and keeps it only
# after a good night, and shows the reports in its own way.
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
      - uses: actions/cache@v4 # its save comes last, and only if all steps passed
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
  cache: # is saved after a good night only
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
# crontab -e: cron mails what is printed, so print nothing on a good night
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
	[ "$1" = -- ] || [ $# -gt 1 ] || no_verdict "$1 wants a value; see the top of this script"
	case $1 in
	--pool) pool=$2 ;;
	--out) out=$2 ;;
	--keep) keep=$2 ;;
	--every) every=$2 ;;
	--engine) engine=$2 ;;
	--workload) workload=(--workload "$2") ;;
	--print)
		print_example "$2"
		exit
		;;
	--) break ;;
	*) no_verdict "$1 is not known; see the top of this script" ;;
	esac
	shift 2
done
[ "${1:-}" = -- ] && shift
[ $# -gt 0 ] || no_verdict "no command: nightly.sh -- CMD [ARG…]"
[ ! -e "$out" ] || no_verdict "$out is there already: a night wants a directory of its own (--out)"

# Two nights at once would judge one another.
mkdir -p "$(dirname "$pool")"
exec 9>"$pool.lock"
if command -v flock >/dev/null; then
	flock -n 9 || no_verdict "another night is still running (it holds $pool.lock)"
fi

# --- record: the program's own output goes where it always goes ---
mkdir -p "$out"
snapshots=$out/snapshots
status=0
"$heaplapse" record --engine "$engine" --every "$every" -o "$snapshots" -- "$@" 9>&- || status=$?
[ "$status" = 0 ] || no_verdict "the program ended with status $status; its snapshots are in $snapshots"

# good_night [FLAG…]: adds the night to the pool, with what it was built from, and drops the oldest.
good_night() {
	local commit
	commit=${GITHUB_SHA:-${CI_COMMIT_SHA:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}}
	"$heaplapse" baseline save "$pool" "$snapshots" "${workload[@]}" --label "commit=$commit" "$@" >/dev/null
	"$heaplapse" baseline prune "$pool" --keep "$keep" >/dev/null
}

# --- the first night: there is nothing to compare with; slow drift will be measured against it, so it must be fit for that ---
if ! compgen -G "$pool/*.baseline.json.gz" >/dev/null; then
	"$heaplapse" gate -q --baseline "$snapshots" --current "$snapshots" --text /dev/null || no_verdict "the first night does not compare, not even with itself: see above"
	good_night --pin || no_verdict "the first night could not be saved"
	say "the first night: saved in $pool and pinned; nothing to compare with yet"
	exit 0
fi

# --- gate: text for the log, and a file for each that reads one ---
status=0
"$heaplapse" gate --baseline "$pool" --current "$snapshots" "${workload[@]}" --text - --json "$out/gate.json" \
	--markdown "$out/gate.md" --junit "$out/gate.xml" --sarif "$out/gate.sarif" --pprof "$out/gate.pb.gz" || status=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$out/gate.md" ]; then
	cat "$out/gate.md" >>"$GITHUB_STEP_SUMMARY"
fi

case $status in
0) good_night || no_verdict "the night is good, and could not be saved" ;;
1) say "regressed; the snapshots and all reports are in $out. Look closer: go tool pprof -http=: $out/gate.pb.gz" ;;
*) no_verdict "heaplapse gate ended with status $status: see above" ;;
esac
exit "$status"
