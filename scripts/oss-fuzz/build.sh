#!/bin/bash -eu
# OSS-Fuzz runs this in its image. It sets CC, CXX, CXXFLAGS, LIB_FUZZING_ENGINE, OUT and SRC.
cd "$SRC/heaplapse"
export CGO_ENABLED=1

# seeds TARGET FILE… packs files as the seed corpus of a target.
seeds() {
	zip -q -j "$OUT/$1_seed_corpus.zip" "${@:2}"
}

for target in snapshot manifest baseline config suppressions rules elf bundle series; do
	go build -C scripts -buildmode c-archive -tags libfuzzer -gcflags all=-d=libfuzzer -trimpath \
		-ldflags "-X main.target=$target" -o "$PWD/$target.a" ./oss-fuzz/libfuzzer
	$CXX $CXXFLAGS $LIB_FUZZING_ENGINE "$target.a" -o "$OUT/$target"
done

hostile=testdata/hostile
seeds snapshot $hostile/snapshots/* testdata/leaky/*.heap.gz testdata/leaky-jemalloc/*.heap.gz
seeds series $hostile/snapshots/* testdata/leaky/*.heap.gz
seeds manifest $hostile/manifests/*/heaplapse.manifest.jsonl
seeds baseline $hostile/baselines/*/*.gz testdata/baselines/*/*.gz
seeds config $hostile/lists/*.yaml docs/heaplapse.yaml
seeds suppressions $hostile/lists/*.supp
seeds rules $hostile/lists/*.rules symbolize/class/rules.txt
seeds elf $hostile/programs/* testdata/leaky/sysroot/opt/leaky/lib/*.so
seeds bundle $hostile/bundles/* testdata/bundle/*.zst
