#!/usr/bin/env bash
# Fetches the repositories of docs/conformance.md and compares heaplapse with llvm-symbolizer on
# their ELF files. Usage: run.sh [DIR]; DIR keeps the clones (default: out/conformance).
# It needs git, network access, readelf and llvm-symbolizer.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-out/conformance}

# A repository and the commit whose results docs/conformance.md has.
repositories=(
	parca-dev/testdata:39b3c040bac71547a767721c4c9f4f5eac4e201f
	google/pprof:b9395ee17fa0d0013c3fd96ac9482318422ac337
	elastic/otel-profiling-agent:3b551e3d1218f01947de759537560cc85ecd3433
	grafana/pyroscope:3fe6a457a32004efc46da819cbc114472d07415e
)

mkdir -p "$dir"
for repository in "${repositories[@]}"; do
	clone=$dir/${repository%:*}
	[ -d "$clone/.git" ] || git init -q "$clone"
	git -C "$clone" fetch -q --depth 1 "https://github.com/${repository%:*}" "${repository##*:}"
	git -C "$clone" checkout -q --force FETCH_HEAD
done
make -s build
scripts/conformance/elf.py bin/heaplapse "$dir"
