#!/usr/bin/env bash
# Writes the container image as an OCI archive, for several architectures, without a container engine.
# `skopeo copy oci-archive:` and `podman load` read it, and `docker load` in newer versions. The same root directories give the
# same bytes. The settings of the image are those of the Dockerfile.
#
# Usage: image.sh FILE ARCH=ROOT…      ROOT is a directory from rootfs.sh; VERSION and SOURCE_DATE_EPOCH
#                                      are variables
set -euo pipefail
file=$(realpath "${1:?usage: image.sh FILE ARCH=ROOT…}")
shift
: "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/oci/blobs/sha256"
user=65532

# blob MEDIATYPE [PLATFORM] stores standard input, and prints its descriptor.
blob() {
	local digest
	cat >"$work/blob"
	digest=$(sha256sum "$work/blob" | cut -d ' ' -f 1)
	printf '{"mediaType":"%s","digest":"sha256:%s","size":%d%s}' "$1" "$digest" "$(stat -c %s "$work/blob")" "${2-}"
	mv "$work/blob" "$work/oci/blobs/sha256/$digest"
}

# layer ROOT writes a layer. The program belongs to root, and what it may write to belongs to its user.
layer() {
	local tar=(tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner)
	rm -f "$work/layer"
	"${tar[@]}" --owner=0 --group=0 --exclude=./data --exclude=./cache --exclude=./home -cf "$work/layer" .
	"${tar[@]}" --owner=$user --group=$user -rf "$work/layer" ./cache ./data ./home
}

manifests=()
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
for image; do
	arch=${image%%=*}
	layer "${image#*=}"
	diff=$(sha256sum "$work/layer" | cut -d ' ' -f 1)
	layer=$(gzip -n9 <"$work/layer" | blob application/vnd.oci.image.layer.v1.tar+gzip)
	config=$(blob application/vnd.oci.image.config.v1+json <<END
{"created":"$created","architecture":"$arch","os":"linux","config":{"User":"$user:$user","WorkingDir":"/data",
"Env":["PATH=/bin","HOME=/home","XDG_CACHE_HOME=/cache"],"Entrypoint":["/bin/heaplapse"],"Cmd":["--help"],
"Labels":{"org.opencontainers.image.version":"$VERSION","org.opencontainers.image.licenses":"Apache-2.0",
"org.opencontainers.image.source":"https://github.com/heaplapse/heaplapse"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$diff"]}}
END
	)
	manifests+=("$(blob application/vnd.oci.image.manifest.v1+json \
		",\"platform\":{\"architecture\":\"$arch\",\"os\":\"linux\"}" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":$config,"layers":[$layer]}
END
	)")
done

index=$(blob application/vnd.oci.image.index.v1+json \
	",\"annotations\":{\"io.containerd.image.name\":\"docker.io/library/heaplapse:$VERSION\",\"org.opencontainers.image.ref.name\":\"$VERSION\"}" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[$(IFS=,; echo "${manifests[*]}")]}
END
)
echo '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
echo "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"manifests\":[$index]}" >"$work/oci/index.json"
tar -C "$work/oci" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+w,go-w \
	-cf "$file" blobs index.json oci-layout
