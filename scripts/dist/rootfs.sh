#!/usr/bin/env bash
# Makes the root directory of the container image: the static program, certificates for HTTPS, and
# directories that its user may write to. The Dockerfile runs it; it also runs without a container
# engine. The same source gives the same bytes. Only root can set owners; image.sh sets them itself.
#
# Usage: rootfs.sh DIR [PROGRAM]      PROGRAM is built if it is not given
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:?usage: rootfs.sh DIR [PROGRAM]}
user=65532 # nonroot, as in distroless images
# Mozilla's certificates as Debian packs them. /etc/ssl/certs would also have those that this machine
# was told to trust, for example of a proxy.
certificates=/usr/share/ca-certificates/mozilla
compgen -G "$certificates/*.crt" >/dev/null || {
	echo "rootfs.sh: $certificates is missing: install the package ca-certificates of Debian or Ubuntu" >&2
	exit 1
}
umask 022
export LC_ALL=C
mkdir -p "$root"/{bin,data,cache,home,tmp,etc/ssl/certs}
if [ -n "${2-}" ]; then
	cp "$2" "$root/bin/heaplapse"
else
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$root/bin/heaplapse" ./cmd/heaplapse
fi
cat "$certificates"/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
printf 'nonroot:x:%s:%s::/home:/\n' $user $user >"$root/etc/passwd"
printf 'nonroot:x:%s:\n' $user >"$root/etc/group"
chmod 1777 "$root/tmp"
[ "$(id -u)" != 0 ] || chown $user:$user "$root/data" "$root/cache" "$root/home"
find "$root" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
