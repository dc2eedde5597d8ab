#!/usr/bin/env bash
# Runs commands as a new user would: in a clone of HEAD, on a minimal Debian 12 that has ca-certificates, git, make and Go.
# Only committed files are there. The Debian mirror, the proxies and the certificates are those of this machine.
#
# Usage: fresh.sh 'COMMAND'…       for example: scripts/fresh.sh 'make demo' 'make test'
#
# Each command runs in a shell of its own, in the same root. Exit status: 0 if all succeed, 77 if such a root cannot be
# made here (it needs root, debootstrap and namespaces), otherwise 1.
#
# ${XDG_CACHE_HOME:-~/.cache}/heaplapse-dev/fresh keeps the pristine root and the downloads of packages and modules for the
# next run. Each run works on its own copy of the root. Everything can be deleted at any time.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=bookworm packages=ca-certificates,git,make
cache=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/fresh

say() { printf 'fresh.sh: %s\n' "$*" >&2; }

# cannot MESSAGE ends the script: there is no fresh root on this machine.
cannot() {
	say "no fresh root: $*"
	exit 77
}

# require_debootstrap installs debootstrap if it is missing.
require_debootstrap() {
	[ "$(id -u)" = 0 ] || cannot "it needs root"
	unshare --mount --pid --fork true 2>/dev/null || cannot "mount and process namespaces are not permitted"
	command -v debootstrap >/dev/null && return
	command -v apt-get >/dev/null || cannot "debootstrap is missing"
	say "installing debootstrap"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; } >/dev/null || cannot "debootstrap cannot be installed"
}

# mirror prints the URI from which this machine gets Debian, or nothing if it runs another distribution.
mirror() {
	command -v apt-get >/dev/null || return 0
	apt-get indextargets --format '$(CODENAME) $(ORIGIN) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk -v suite=$suite '$1 == suite && $2 == "Debian" && $3 == "main" {print $4; exit}'
}

# configure ROOT copies the name servers, the certificates and apt's settings of this machine.
configure() {
	local file
	for file in /etc/resolv.conf /etc/hosts; do
		if [ -e $file ]; then cp -L $file "$1$file"; fi
	done
	file=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
	if [ -e "$file" ]; then cp -L "$file" "$1/etc/ssl/certs/ca-certificates.crt"; fi
	if command -v apt-config >/dev/null; then
		apt-config dump | grep '^Acquire::' >"$1/etc/apt/apt.conf.d/90machine" || true
	fi
}

# pristine_root makes the root if the cache has none, and prints its path. It is made again every month.
pristine_root() {
	local uri root
	uri=$(mirror)
	root=$cache/root-$(printf '%s\n' $suite $packages "$uri" "$(go version)" "$(date +%Y-%m)" | sha256sum | cut -c 1-12)
	if [ ! -d "$root" ]; then
		say "making a minimal Debian 12 in $root"
		rm -rf --one-file-system "$cache"/root-*
		mkdir -p "$cache"
		debootstrap --variant=minbase --include=$packages $suite "$root.new" $uri >"$cache/debootstrap.log" 2>&1 || {
			tail -n 20 "$cache/debootstrap.log" >&2
			return 1
		}
		cp -a "$(go env GOROOT)" "$root.new/usr/local/go"
		mv "$root.new" "$root"
	fi
	echo "$root"
}

# settings prints the variables that reach the mirror, the proxies and the modules, one assignment a line.
settings() {
	env | grep -iE '^(http|https|ftp|all|no)_proxy=' || true
	go env GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE |
		paste -d= <(printf '%s\n' GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE) - | grep -v '=$' || true
	echo "CI=${CI:-}"
	echo "TERM=dumb"
}

# inside ROOT COMMAND… mounts what programs expect and runs the commands. Its namespaces end with it, so nothing stays mounted.
inside() {
	local root=$1 status=0 command
	local -a environment
	shift
	mkdir -p "$root/root/go/pkg/mod" "$cache"/{archives/partial,modules}
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount --bind /dev "$root/dev"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
	mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"
	mount --bind "$cache/modules" "$root/root/go/pkg/mod"
	mapfile -t environment < <(settings)
	for command; do
		say "$command"
		SECONDS=0
		chroot "$root" /usr/bin/env -i -C /root/heaplapse HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			"${environment[@]}" sh -c "$command" </dev/null || status=1
		say "$command: $([ $status = 0 ] && echo passed || echo FAILED) after $((SECONDS / 60)) min $((SECONDS % 60)) s"
		[ $status = 0 ] || return $status
	done
}

if [ "${1:-}" = --inside ]; then
	inside "${@:2}"
	exit
fi
require_debootstrap
pristine=$(pristine_root)
find "$cache" -maxdepth 1 -name 'run.*' -mtime +0 -exec rm -rf --one-file-system {} + # of killed runs
work=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
cp -a --reflink=auto "$pristine/." "$work"
configure "$work"
git clone --quiet --no-hardlinks . "$work/root/heaplapse"
say "$(git log -1 --format='%h %s') on a fresh Debian $(cat "$work/etc/debian_version"), $(go version | cut -d ' ' -f 3)"
unshare --mount --pid --fork --kill-child "$0" --inside "$work" "$@"
