#!/usr/bin/env bash
# Runs commands as a new user would: in a clone of HEAD, on a minimal Debian 12 that has
# ca-certificates, git, make and Go. Only committed files are there. The Debian mirror, the proxies
# and the certificates are those of this machine.
#
# Usage: fresh.sh COMMAND…      for example: scripts/fresh.sh 'make demo' 'make test'
#
# Each command runs in a shell of its own, in the same root, until one fails. Exit status: 0 if all
# succeed, 1 if one fails, 77 if this machine cannot have such a root (it needs Linux, root,
# debootstrap and namespaces).
#
# ${XDG_CACHE_HOME:-~/.cache}/heaplapse-dev/fresh keeps the pristine root, and the packages and
# modules that were downloaded. Each run works on its own copy of the root. The directory can be
# deleted at any time.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=bookworm packages=ca-certificates,git,make
cache=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/fresh

say() { printf 'fresh.sh: %s\n' "$*" >&2; }

# cannot REASON ends the script: this machine cannot have a fresh root.
cannot() {
	say "no fresh root: $*"
	exit 77
}

# need_debootstrap installs debootstrap if it is missing.
need_debootstrap() {
	[ "$(uname)" = Linux ] || cannot "this is not Linux"
	[ "$(id -u)" = 0 ] || cannot "this user is not root"
	unshare --mount --pid --fork true 2>/dev/null || cannot "mount and process namespaces are not permitted"
	command -v debootstrap >/dev/null && return
	command -v apt-get >/dev/null || cannot "debootstrap is missing"
	say "installing debootstrap"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; } >/dev/null ||
		cannot "debootstrap cannot be installed"
}

# mirror prints the URI from which this machine installs Debian 12. It prints nothing on another
# distribution: then debootstrap chooses.
mirror() {
	command -v apt-get >/dev/null || return 0
	apt-get indextargets --format '$(CODENAME) $(ORIGIN) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk -v suite=$suite '$1 == suite && $2 == "Debian" && $3 == "main" && !uri {uri = $4} END {print uri}'
}

# kept prints the directory that this run shares with others: root, archives, modules. It is made
# again every month, and for another Go.
kept() {
	local uri dir
	uri=$(mirror)
	dir=$cache/$(printf '%s\n' $suite $packages "$uri" "$(go version)" "$(date +%Y-%m)" | sha256sum | cut -c 1-12)
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if [ ! -d "$dir/root" ]; then
		say "making a minimal Debian 12 in $dir"
		find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name 'run.*' -exec rm -rf --one-file-system {} +
		mkdir -p "$dir/archives" "$dir/modules"
		unshare --mount debootstrap --variant=minbase --include=$packages $suite "$dir/new" $uri >"$dir/log" 2>&1 || {
			tail -n 20 "$dir/log" >&2
			return 1
		}
		mv "$dir"/new/var/cache/apt/archives/*.deb "$dir/archives"
		cp -a "$(go env GOROOT)/." "$dir/new/usr/local/go"
		mv "$dir/new" "$dir/root"
	fi
	exec 9>&-
	echo "$dir"
}

# configure ROOT copies what reaches the network from this machine: name servers, certificates,
# apt's proxies.
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

# settings prints the variables that the commands get beside HOME and PATH, one per line.
settings() {
	local name
	env | grep -iE '^(http|https|ftp|all|no)_proxy=' || true
	for name in GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE; do
		echo "$name=$(go env $name)"
	done
	echo "CI=${CI:-}"
	echo TERM=dumb
}

# inside ROOT MODULES COMMAND… mounts what programs expect and runs the commands. It runs in
# namespaces of its own: the mounts and processes end with it.
inside() {
	local root=$1 modules=$2 command result
	local -a environment
	shift 2
	mkdir -p "$root/root/go/pkg/mod"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount --bind /dev "$root/dev"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
	mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount --bind "$modules" "$root/root/go/pkg/mod"
	mapfile -t environment < <(settings)
	for command; do
		say "$command"
		SECONDS=0 result=passed
		chroot "$root" /usr/bin/env -i -C /root/heaplapse HOME=/root "${environment[@]}" \
			PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$command" </dev/null || result=FAILED
		say "$command: $result after $((SECONDS / 60)) min $((SECONDS % 60)) s"
		[ $result = passed ] || return 1
	done
}

# cleanup keeps the packages that were downloaded and removes the copy of the root.
cleanup() {
	find "$work/var/cache/apt/archives" -name '*.deb' -exec ln -t "$dir/archives" {} + 2>/dev/null || true # most are there
	rm -rf --one-file-system "$work"
}

main() {
	if [ "${1:-}" = --inside ]; then
		inside "${@:2}"
		return
	fi
	need_debootstrap
	dir=$(kept)
	# Runs that were killed leave their copies.
	find "$cache" -mindepth 1 -maxdepth 1 -name 'run.*' -mtime +0 -exec rm -rf --one-file-system {} +
	work=$(mktemp -d "$cache/run.XXXXXX")
	trap cleanup EXIT
	cp -a --reflink=auto "$dir/root/." "$work"
	find "$dir/archives" -name '*.deb' -exec ln -t "$work/var/cache/apt/archives" {} +
	configure "$work"
	git clone --quiet --no-hardlinks . "$work/root/heaplapse"
	say "$(git log -1 --format='%h %s'), Debian $(cat "$work/etc/debian_version"), $(go version | cut -d ' ' -f 3)"
	unshare --mount --pid --fork --kill-child scripts/fresh.sh --inside "$work" "$dir/modules" "$@"
}

main "$@"
exit
