#!/usr/bin/env bash
# Runs the tests that redis, sqlite and CPython bring along, without a recording and under the
# built-in engine, and compares the results: the same tests must pass, fail and be skipped. Those of
# redis and sqlite are in the distribution's source packages (Debian). redis's tests run the installed
# redis-server; sqlite's need a test program, which is compiled; CPython's are installed with it.
# Usage: programs.sh [DIR [PROGRAM…]]; DIR keeps what was fetched (default: out/programs).
# It needs network access, apt-get, gcc, make, tclsh, tcl-dev, redis-server and a CPython from 3.12 on
# with its tests, and takes 40 minutes.
# REDIS_TESTS, SQLITE_TESTS and CPYTHON_TESTS are other tests than the default ones; PYTHON is another
# interpreter.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-out/programs}
programs=("${@:2}")
[ ${#programs[@]} -gt 0 ] || programs=(redis sqlite cpython)
mkdir -p "$dir/recordings"
chmod 1777 "$dir/recordings"
dir=$(cd "$dir" && pwd)
go build -o "$dir/heaplapse" ./cmd/heaplapse

redis_tests=(unit/type/{string,incr,list,set,hash,stream}
	unit/{keyspace,scan,sort,expire,dump,auth,protocol,quit,multi,pubsub,scripting,functions,bitops,hyperloglog}
	unit/{other,aofrw,lazyfree,info,introspection,slowlog,shutdown}
	integration/{rdb,aof,redis-cli,logging,shutdown})
read -ra redis_tests <<<"${REDIS_TESTS:-${redis_tests[*]}}"
sqlite_tests=${SQLITE_TESTS:-test/veryquick.test}
cpython_tests=${CPYTHON_TESTS:-test_threading test_subprocess test_signal test_fork1 test_asyncio test_ctypes}

# fetch PACKAGE unpacks the upstream sources of a source package to DIR/PACKAGE.
fetch() {
	local codename
	[ ! -d "$dir/$1" ] || return 0
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# Lists of source packages of its own: the machine's settings stay as they are.
	mkdir -p "$dir"/apt/{lists/partial,parts,cache/archives/partial}
	printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
		"$codename" /usr/share/keyrings/debian-archive-keyring.gpg >"$dir/apt/parts/source.sources"
	cat >"$dir/apt/apt.conf" <<-CONF
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$dir/apt/parts";
		Dir::State::lists "$dir/apt/lists";
		Dir::Cache "$dir/apt/cache";
		APT::Sandbox::User "root";
	CONF
	(
		export APT_CONFIG=$dir/apt/apt.conf
		cd "$dir/apt"
		apt-get update -qq
		apt-get source -qq --download-only "$1/$codename"
	)
	mkdir "$dir/$1.part"
	tar -xf "$(compgen -G "$dir/apt/$1_*.orig.tar.?z")" -C "$dir/$1.part" --strip-components 1
	mv "$dir/$1.part" "$dir/$1"
}

prepare_redis() {
	local tool
	fetch redis
	for tool in redis-{server,cli,benchmark,check-aof,check-rdb}; do
		ln -sf "$(type -P $tool)" "$dir/redis/src/$tool"
	done
}

prepare_sqlite() {
	fetch sqlite3
	[ ! -x "$dir/sqlite3/testfixture" ] || return 0
	(cd "$dir/sqlite3" && ./configure -q && make -s testfixture) >"$dir/sqlite.log" 2>&1 || {
		tail -n 5 "$dir/sqlite.log" >&2
		return 1
	}
}

run_redis() {
	local test arguments=()
	for test in "${redis_tests[@]}"; do arguments+=(--single "$test"); done
	(cd "$dir/redis" && "$@" ./runtest --clients 2 "${arguments[@]}")
}

# sqlite's tests do not run as root.
run_sqlite() {
	local user=()
	if [ "$(id -u)" = 0 ]; then
		user=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$dir/recordings")
		chown -R 65534:65534 "$dir/sqlite3"
	fi
	(cd "$dir/sqlite3" && "${user[@]}" "$@" ./testfixture "$sqlite_tests")
}

prepare_cpython() { "${PYTHON:-python3}" -c 'import test.test_ctypes'; }

# Some tests wait for SIGINT, which is ignored where this script runs in the background.
run_cpython() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	env --default-signal "$@" sh -c 'for test in $2; do echo "test: $test"; "$1" -m test "$test"; done' sh "${PYTHON:-python3}" "$cpython_tests"
}

# results prints a line for each test: its result and its name, or a line that sums the tests up.
results() {
	sed -E $'s/\x1b\\[[0-9;]*m//g' | case $1 in
	redis) sed -nE 's/^\[(ok|err|ignore|exception)\]:? (.*)$/\1 \2/p' | sed -E 's/ \([0-9]+ ms\)$//' | LC_ALL=C sort ;;
	cpython) sed -nE 's/^(test: .*|Total tests: .*|Result: .*)/\1/p' | paste -sd ' ' | sed 's/ test: /\n/g' ;;
	sqlite) grep -E '^(! |[0-9]+ errors out of [0-9]+ tests)' | sed -E 's/ on .*//' ;;
	esac
}

status=0
for program in "${programs[@]}"; do
	"prepare_$program"
	"run_$program" env >"$dir/$program.bare.log" 2>&1 || true
	rm -rf "$dir/recordings/$program"
	"run_$program" "$dir/heaplapse" record -q --engine builtin --follow-children --every 1s \
		-o "$dir/recordings/$program" -- >"$dir/$program.engine.log" 2>&1 || true
	for way in bare engine; do results "$program" <"$dir/$program.$way.log" >"$dir/$program.$way.txt"; done
	if [ -s "$dir/$program.bare.txt" ] && diff -u "$dir/$program".{bare,engine}.txt; then
		echo "$program: the same results: $(tail -n 1 "$dir/$program.engine.txt"); $(wc -l <"$dir/$program.engine.txt") lines"
	else
		echo "$program: the results differ, or there are none"
		status=1
	fi
	"$dir/heaplapse" info -q "$dir/recordings/$program" | sed -n 1,5p
done
exit $status
