#!/usr/bin/env bash
# Boots a systemd of Debian 12 in namespaces of its own, with a service that records, and the timers of docs/examples set to
# every 10 s. Fails unless both timers run their services, and the rows of both starts of the service are compacted.
# Needs Linux, root, debootstrap, gcc and Debian's mirror. Usage: systemd.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

# boot ROOT mounts what systemd expects, and becomes it. It runs in namespaces of its own.
boot() {
	local root=$1 file
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/dev"
	mkdir "$root/run/lock" "$root/dev/shm" "$root/dev/pts"
	for file in null zero full random urandom tty; do
		touch "$root/dev/$file"
		mount --bind "/dev/$file" "$root/dev/$file"
	done
	touch "$root/dev/console"
	mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	exec chroot "$root" /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=0
}

# prepare ROOT installs heaplapse, a service that leaks, and the units.
prepare() {
	local root=$1 unit
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus bookworm "$root" >"$root.log"
	go build -o "$root/usr/bin/heaplapse" ./cmd/heaplapse
	gcc -O1 -g -x c -o "$root/usr/bin/shop-server" - <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void) {
	for (void *volatile kept;; usleep(1000)) kept = malloc(20000);
}
C
	install -m 644 docs/examples/heaplapse-* "$root/etc/systemd/system"
	mkdir -p "$root/var/lib/heaps" "$root/var/lib/heaplapse/tables"
	cat >"$root/etc/systemd/system/shop.service" <<'UNIT'
[Service]
ExecStart=/usr/bin/heaplapse record -o /var/lib/heaps/shop-${INVOCATION_ID} -- /usr/bin/shop-server
UNIT
	for unit in heaplapse-export@shop heaplapse-compact; do
		mkdir "$root/etc/systemd/system/$unit.timer.d"
		printf '[Timer]\nOnCalendar=\nOnCalendar=*:*:0/10\nRandomizedDelaySec=0\nAccuracySec=1s\n' \
			>"$root/etc/systemd/system/$unit.timer.d/soon.conf"
		chroot "$root" systemctl enable -q "$unit.timer"
	done
}

# await WHAT COMMAND… waits until a command succeeds, for at most two minutes.
await() {
	local what=$1
	shift
	for ((i = 0; i < 120; i++)); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 1
	done
	echo "systemd.sh: in vain: $what" >&2
	return 1
}

# in_it COMMAND… runs a command where systemd runs.
in_it() { nsenter -t "$(pgrep -P "$outer")" -m -p chroot "$root" "$@"; }

# compacted N reports whether the rows of N starts of the service are in the file of the night.
compacted() {
	[ "$(in_it journalctl -u heaplapse-export@shop --no-pager -o cat | grep -o '/runs/night=[^/]*/[^ ]*-[0-9a-f]*\.parquet$' | sort -u | wc -l)" -ge "$1" ] &&
		ls "$root"/var/lib/heaplapse/tables/runs/night=*/all.parquet
}

if [ "${1:-}" = --boot ]; then boot "$2"; fi
work=$(mktemp -d)
root=$work/root outer=
cleanup() {
	if [ -n "$outer" ]; then
		kill -KILL "$outer"
		wait "$outer" 2>/dev/null || true
	fi
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
prepare "$root"
unshare --mount --pid --fork --kill-child --uts --ipc --cgroup "$0" --boot "$root" >"$work/boot.log" 2>&1 &
outer=$!
await "systemd has booted" in_it test -S /run/dbus/system_bus_socket
in_it systemctl start shop
sleep 5
in_it systemctl restart shop
sleep 5
await "the rows of both starts are exported and compacted" compacted 2
for unit in heaplapse-export@shop heaplapse-compact; do
	[ "$(in_it systemctl show -P Result "$unit.service")" = success ]
done
echo "systemd $(in_it systemctl --version | awk 'NR == 1 {print $2}'): both timers ran, and the rows of both starts are in one file"
