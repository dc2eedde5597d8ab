#!/bin/sh
# Records the fixtures of this directory. Usage: record.sh NODE...
# NODE is the path of a Node binary; npm install node@18 puts one into node_modules/node/bin.
# The script runs as /srv/hot.js, so that the fixtures contain no other path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" /srv/hot.js' EXIT
cp "$here/hot.js" /srv/hot.js
for node; do
	out=$here/node$("$node" --version | sed 's/^v\([0-9]*\).*/\1/')
	(cd "$work" && rm -f ./* && "$node" --perf-basic-prof --perf-prof --interpreted-frames-native-stack /srv/hot.js)
	# The functions of the script, and one or two lines of each other kind of name.
	names='hot.js|two words|evaled|inVM|my file|wasm|RegExp.*src|RegExp:a|:. :1|Builtin:ArrayMap$|BytecodeHandler:LdaZero$|Eval:. node:internal/main|.resolve node:path'
	grep -aE "$names" "$work/perf.map" >"$out.map"
	go run "$here/excerpt.go" "$work"/jit-*.dump "$out.dump.gz" "/srv/hot.js|evaled|inVM|RegExp:a|RegExp.> src|Builtin:ArrayMap$"
done
