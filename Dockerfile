# An image with heaplapse and nothing else. It runs as a user without privileges.
#
#   docker build --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" -t heaplapse .
#   docker run --rm -v "$PWD/heap:/heap:ro" heaplapse growth /heap
#
# The image has no C library, so it cannot record: it reads, judges and scrapes (docs/container.md).
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG SOURCE_DATE_EPOCH=0
RUN scripts/dist/rootfs.sh /rootfs

FROM scratch
COPY --from=build /rootfs/ /
USER 65532:65532
WORKDIR /data
ENV HOME=/home XDG_CACHE_HOME=/cache
ENTRYPOINT ["/bin/heaplapse"]
CMD ["--help"]
