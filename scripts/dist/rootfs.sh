#!/usr/bin/env bash
# Makes the root directory of the container image: the static program, certificates for HTTPS, and
# directories that its user may write to. The Dockerfile runs it; it also runs without a container
# engine. The same source gives the same bytes. Usage: rootfs.sh DIR
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${1:?usage: rootfs.sh DIR}
user=65532 # nonroot, as in distroless images
umask 022
mkdir -p "$root"/{bin,data,cache,home,tmp,etc/ssl/certs}
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$root/bin/heaplapse" ./cmd/heaplapse
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
printf 'nonroot:x:%s:%s::/home:/\n' $user $user >"$root/etc/passwd"
printf 'nonroot:x:%s:\n' $user >"$root/etc/group"
chmod 1777 "$root/tmp"
chown $user:$user "$root/data" "$root/cache" "$root/home"
find "$root" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
