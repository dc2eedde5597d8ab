#!/usr/bin/env bash
# Fetches the repositories below and compares what heaplapse reads in their heap profiles with other
# readers. Usage: profiles.sh [DIR]; DIR keeps what was fetched, 350 MB (default: out/profiles).
# It needs network access, git, go and heaptrack.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/conformance/lib.sh
dir=$(realpath -m "${1:-out/profiles}")
mkdir -p "$dir"

# The results in docs/conformance.md are of these commits.
while read -r repository commit; do
	fetch_git "$dir" "$repository" "$commit"
done <<-'END'
	AndjelaDamnjanovic/MassifVisualization 7e0cb7ad27044ff94f44a7cec41499570aa51a10
	DataDog/dd-trace-go a4bdff1017d75a65ef8a30a305c048a9cabe922f
	DataDog/go-profiler-notes 65dd611ec7b225a8c843a284f755e3cfe0593176
	DataDog/libdatadog 9d6b2ffb3d86bb052a822a5e9a9bcfeb62514983
	KDE/heaptrack 3e6cce3d210a6672fe6f92de0bed567c49b7a9c5
	KDE/massif-visualizer 7ccee97c8498b47e22a5f8f0a2ab4c0020dfaab5
	conprof/conprof 42b049c541a4ccaebea6ba7be37224abe34c9f7d
	ditto-profiling/heaptrack-parser c61ac6a4d1efcfb0c5756c4517f5ceee3e537aac
	elastic/apm-server 7c4e4d4e8f14de9fb75d2eecaed922ff9d858e33
	felixge/pprofutils 4002826e406c149e7af1025f52cc0ea526cdd7f9
	google/pprof b9395ee17fa0d0013c3fd96ac9482318422ac337
	grafana/pyroscope 3fe6a457a32004efc46da819cbc114472d07415e
	jlfwong/speedscope 3613918de0dd55a263d0d04f85b0c8c2039c7bee
	moderato-app/live-pprof f03ff0e2bf5234a5bf467339192b69bcb62f3271
	murraycu/massifg 022abffe555ec2efdeea854b50d75cac4c0db564
	parca-dev/parca 3b5647cd9e2a6527d9c31d7d68ccf6409a57ae00
	platformatic/react-pprof 7cae45662440d00dc94047009a7a8d1a15379c2b
END
make -s build
go run -C scripts ./conformance/profiles "$PWD/bin/heaplapse" "$dir"
