#!/usr/bin/env bash
# Records a program in sandboxes: from outside, from inside, and by attach. Its output and its status are as without
# heaplapse, and it is recorded, or a line says why not. Needs gcc, libseccomp-dev, and the sandboxes: bubblewrap,
# firejail, runc with golang-github-containers-common (for the filter of container engines), systemd (or its
# systemd-analyze, for the lists of system calls), nsjail, chromium. Root is needed for most of them.
# Usage: sandboxes.sh [WORKDIR]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
begin "${1:-}"
need gcc gcc || exit $failed
chmod 755 .
[ "$hl" = "$work/heaplapse" ] || cp "$hl" heaplapse
hl=$work/heaplapse program=payload$$ # found by its name
gcc -O1 -g -pthread -o $program "$here/payload.c" || exit

run() {
	timeout -k 9 300 "$@" >out 2>err
	status=$?
}

# judge NAME compares output and status with those without heaplapse, and prints what was recorded.
judge() {
	local snapshots why
	snapshots=$(find rec -name '*.heap*' 2>/dev/null | wc -l)
	why=$(grep -ahE '^heaplapse: .*(not recorded|seccomp|no snapshots|does not permit|refuse|cannot|namespace|defines malloc|malloc linked)' err attach.err 2>/dev/null |
		sort -u | head -n 2 | paste -sd' ')
	cmp -s out want && [ $status = "$expected" ] && { [ "$snapshots" -gt 0 ] || [ -n "$why" ]; }
	say "$1" $? "$snapshots snapshots${why:+; $why}"
	rm -rf rec attach.err
}

# try NAME COMMAND… runs the program in the sandbox that the command prefix makes.
try() {
	local name=$1 pid sandbox
	shift
	run "$@" "$work/$program"
	if [ $status != 3 ]; then
		skip "$name does not run here: status $status, $(tail -n 1 err)"
		return
	fi
	cp out want
	expected=$status
	run "$hl" record -o rec -- "$@" "$work/$program"
	judge "$name, recorded from outside"
	run "$@" "$hl" record -o "$work/rec" -- "$work/$program"
	judge "$name, recorded from inside"
	timeout -k 9 300 "$@" "$work/$program" >out 2>err &
	sandbox=$!
	until pid=$(pgrep -n -x "$program") || ! kill -0 $sandbox 2>/dev/null; do sleep 0.05; done
	timeout -k 9 60 "$hl" attach -o rec --duration 1s "${pid:-0}" 2>attach.err
	wait $sandbox
	status=$?
	judge "$name, attached to"
}

# browser NAME COMMAND… runs a page in chromium.
browser() {
	local name=$1 dom
	shift
	# shellcheck disable=SC2054 # no commas
	dom=(--headless --disable-gpu --no-first-run --disable-background-networking --disable-dev-shm-usage
		--user-data-dir="$work/profile" --dump-dom "file://$work/page.html")
	run "$@" "${dom[@]}"
	if [ $status != 0 ] || ! grep -q 'done 100000' out; then
		skip "$name does not run here: status $status, $(tail -n 1 err)"
		return
	fi
	cp out want
	expected=$status
	for children in "" --follow-children; do
		# shellcheck disable=SC2086 # a word or none
		run "$hl" record $children -o rec -- "$@" "${dom[@]}"
		judge "$name, recorded${children:+ with $children}"
	done
}

try "no sandbox" env
need bwrap bubblewrap && try bubblewrap bwrap --ro-bind / / --bind "$work" "$work" --dev /dev --proc /proc --unshare-all --die-with-parent
if need firejail firejail; then
	try firejail firejail --quiet --noprofile
	try "firejail --seccomp" firejail --quiet --noprofile --seccomp
fi
if command -v nsjail >/dev/null; then
	try nsjail nsjail -Mo -q -R / -B "$work" --rlimit_as inf --
else
	echo "skipped  nsjail: is not installed (Debian 12 has no package)"
fi

# system_calls SET prints the members of one of systemd's sets.
system_calls() {
	systemd-analyze syscall-filter "$1" | sed -n 's/^ *\([@a-z_0-9-]*\)$/\1/p' | grep -vx "$1" | while read -r name; do
		case $name in @*) system_calls "$name" ;; *) echo "$name" ;; esac
	done
}
if [ -d /run/systemd/system ]; then
	try "systemd's SystemCallFilter" systemd-run --quiet --pipe --wait -p SystemCallFilter=@system-service
elif need systemd-analyze systemd && gcc -O1 -o filter "$here/filter.c" -lseccomp 2>gcc.log; then
	{ system_calls @system-service; system_calls @default; } | sort -u >calls
	export FILTER_LIST=$work/calls
	try "the calls of systemd's @system-service, others kill (systemd does not run here)" "$work/filter" kill
	try "the same, others fail with EPERM" "$work/filter" 1
else
	skip "filters: needs systemd and libseccomp-dev: $(head -n 1 gcc.log 2>/dev/null)"
fi

if need runc runc; then
	mkdir -p bundle
	cat >in-runc <<-SH
	#!/bin/sh
	cd "$work/bundle" && python3 "$here/oci.py" "$work" "\$OCI_FILTER" "\$@" && exec runc run harm\$\$
	SH
	chmod +x in-runc
	OCI_FILTER="" try "runc, without a filter" "$work/in-runc"
	filter=/usr/share/containers/seccomp.json
	if [ -e $filter ]; then
		OCI_FILTER=$filter try "runc, with the filter of container engines" "$work/in-runc"
	else
		skip "runc's filter: needs golang-github-containers-common"
	fi
fi

if need chromium chromium; then
	cat >page.html <<-'HTML'
	<body><script>
	let a = [];
	for (let i = 0; i < 100000; i++) a.push({i, s: "x" + i});
	document.body.append("done " + a.length, " ", a.reduce((s, x) => s + x.i, 0));
	</script>
	HTML
	chromium=/usr/lib/chromium/chromium
	[ -x $chromium ] || chromium=chromium
	browser "chromium --no-sandbox" $chromium --no-sandbox
	rm -rf profile
	mkdir -m 700 profile && chown 65534:65534 profile
	browser "chromium with its sandbox" setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/profile" $chromium
fi
exit $failed
