package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// wrongUsages are command lines and what is said about each. $D is the directory testdata. ␣ is a space in an
// argument, ␀ an empty one.
const wrongUsages = `
grwoth $D/leaky                          | unknown command "grwoth": did you mean heaplapse growth?; see heaplapse --help
help bogus                               | unknown command "bogus"; see heaplapse --help
baseline lst                             | unknown command "lst": did you mean heaplapse baseline list?; see heaplapse baseline --help
recordd -o x -- ls                       | unknown command "recordd": did you mean heaplapse record?; see heaplapse --help
grwoth lines --explain 1                 | unknown command "grwoth": did you mean heaplapse growth?; see heaplapse --help
fleet bogus                              | unknown command "bogus": want aliases, compact, export, query; see heaplapse fleet --help
completion tcsh                          | unknown command "tcsh": want bash, fish, powershell, zsh; see heaplapse completion --help
completion bash extra                    | heaplapse completion bash takes no argument; see heaplapse completion bash --help
version now                              | heaplapse version takes no argument; see heaplapse version --help
--bogus                                  | unknown flag: --bogus; see heaplapse --help
-version                                 | unknown flag: -version: did you mean --version?; see heaplapse --help
-help                                    | unknown flag: -help: did you mean --help?; see heaplapse --help
growth                                   | no PATH given: name a directory, a file or a prefix of snapshots; see heaplapse growth --help
growth ␀                                 | a PATH is empty: name a directory, a file or a prefix of snapshots
diff ␀ ␀                                 | a PATH is empty: name a directory, a file or a prefix of snapshots
growth emptyy                            | emptyy: no such file or directory, and no heap snapshots have this prefix: did you mean empty?
growth ./above/a/p.001.heap              | ./above/a/p.001.heap: no such file or directory, and no heap snapshots have this prefix: did you mean ./above/a/p.0001.heap?
growth nodir                             | nodir: no such file or directory, and no heap snapshots have this prefix: check the path, or record a program first: heaplapse record -- CMD
growth summaries                         | summaries: no heap snapshots in this directory, but baselines: gate compares a run with them, and heaplapse baseline list shows them
growth above                             | above: no heap snapshots in this directory, but below it: name one of above/a; above/b
growth empty                             | empty: no heap snapshots in this directory (*.heap, *.pb, *.pprof, *.prof, *.jeprof; with .gz or .zst, too)
growth some.heapsnapshot                  | some.heapsnapshot: not a heap snapshot: a heap snapshot of V8, with the JavaScript objects of one moment; open it with the DevTools of Chrome; for native memory, record the program with heaplapse
growth app.py                            | app.py: not a heap snapshot: source code; record the program first: heaplapse record -- python3 app.py
growth app.c                             | app.c: not a heap snapshot: source code; record the program first: heaplapse record -- ./PROGRAM
growth note.txt                          | note.txt: not a heap snapshot: its first line is "hello"; a snapshot starts with "heap profile:" or "heap_v2/"
growth program                           | program: not a heap snapshot: an ELF file; name the snapshots that the program wrote, not the program
growth result.json                       | result.json: not a heap snapshot: a JSON file; name the snapshots that the program wrote
growth some.zip                          | some.zip: not a heap snapshot: a zip archive; unpack it first
growth none.heap                         | none.heap: not a heap snapshot: an empty file; the process or the disk ended before it was written; remove it or record again
growth cut.heaplapse.tar.zst             | cut.heaplapse.tar.zst: not a heap snapshot: a compressed file without content; it is truncated, or was empty before; remove it or record again
growth *.nothing                         | *.nothing: no heap snapshots match this pattern: check the path, or record a program first: heaplapse record -- CMD
growth $D/leaky --formt json             | unknown flag: --formt: did you mean --format?; see heaplapse growth --help
growth $D/leaky --json                   | unknown flag: --json: use --format json; see heaplapse growth --help
growth $D/leaky --evidnce x              | unknown flag: --evidnce: did you mean --evidence?; see heaplapse growth --help
growth $D/leaky -z                       | unknown flag: -z; see heaplapse growth --help
growth $D/leaky -top 3                   | unknown flag: -top: did you mean --top?; see heaplapse growth --help
growth $D/leaky --help-al                | unknown flag: --help-al: did you mean --help-all?; see heaplapse growth --help
growth $D/leaky --pid 3                  | unknown flag: --pid: use --process PID; see heaplapse growth --help
holders --pid 3                          | unknown flag: --pid: the number of a process is an argument: heaplapse holders PID; see heaplapse holders --help
holders 99999999                         | there is no process 99999999: pgrep NAME prints the numbers of those of a program
holders 3 --rs                           | unknown flag: --rs: did you mean --rss?; see heaplapse holders --help
growth $D/leaky --until                  | --until has no value: want --until WHEN; see heaplapse growth --help
growth $D/leaky -o                       | --output has no value: want --output FILE; see heaplapse growth --help
growth $D/leaky --since yesterday        | --since yesterday: want the number of a snapshot (5), the time since the first one (10m) or a time (2026-01-02T15:04:05Z)
growth $D/leaky --since 10m              | no snapshot lies between --since 10m and --until the last: the series has snapshots 1 to 24, which span 46s
growth $D/leaky --since 500              | --since 500: the series has snapshots 1 to 24
growth $D/leaky --since 20 --until 3     | no snapshot lies between --since 20 and --until 3: the series has snapshots 1 to 24
growth $D/leaky --min-bytes 1XB          | --min-bytes 1XB: want a size, such as 64KiB or 1MiB; see heaplapse growth --help
growth $D/leaky --memory-limit -5        | --memory-limit -5: want a size, such as 64KiB or 1MiB; see heaplapse growth --help
growth $D/leaky --top many               | --top many: want a whole number, 0 or more; see heaplapse growth --help
growth $D/leaky --format xml             | --format xml: want text, json, csv or md; see heaplapse growth --help
growth $D/leaky --group-by line          | --group-by line: want function, stack, file or module; see heaplapse growth --help
growth $D/leaky --fail-on all            | --fail-on all: want leak or suspect; see heaplapse growth --help
growth $D/leaky --confidence 60          | --confidence 60: want a number from 0 to 1
growth $D/leaky --confidence high        | --confidence high: want a number; see heaplapse growth --help
growth $D/leaky --strict=maybe           | --strict maybe: want true or false; see heaplapse growth --help
growth $D/leaky --focus [                | --focus [: missing closing ] in the regular expression; a \ before ( [ * + ? . takes them literally; see heaplapse growth --help
growth $D/leaky --process 99             | no process "99"; there are: $D/leaky/leaky
growth $D/leaky --snapshots 1            | --snapshots: 1 is not a number from 2 to 10000
growth $D/leaky -o nodir/x.txt           | --output nodir/x.txt: there is no directory nodir: make it first; see heaplapse growth --help
growth $D/leaky -o empty                 | --output empty: is a directory: want the name of a file in it; see heaplapse growth --help
growth $D/leaky -o note.txt/x            | --output note.txt/x: note.txt is a file: want a directory there; see heaplapse growth --help
growth $D/leaky -o text=-                | -o text=-: want the name of a file: --format text -o -
growth $D/leaky -o junit=x               | -o junit=x: want the name of a file: -o x
growth $D/leaky -o x.pdf                 | -o x.pdf: the output is text: name it x.txt
growth $D/leaky -o x.json                | -o x.json: the output is text: --format json writes JSON, or name it x.txt
growth $D/leaky -o x.json.gz --format json | -o x.json.gz: the output is JSON: name it x.json
growth $D/leaky --suppressions nofile    | --suppressions: nofile: no such file or directory: check the path
growth $D/leaky --suppressions empty     | --suppressions: empty: a directory, where a file is needed: check the path
growth $D/leaky --suppressions note.txt  | --suppressions: note.txt:1: want leak:PATTERN, found "hello"
growth $D/leaky --blame-rules note.txt   | --blame-rules: note.txt:1: want CLASS function|file|module|unnamed|path|script REGEXP
growth $D/leaky --evidence nofile        | --evidence: nofile: no such file or directory: check the path
growth $D/leaky --sysroot nodir          | --sysroot nodir: does not exist here: want the path of a directory with programs and libraries; see heaplapse growth --help
growth $D/leaky --binary nofile          | --binary nofile: does not exist here: want the path of the program; see heaplapse growth --help
growth $D/leaky --debuginfod localhost   | --debuginfod: "localhost" is not the URL of a server: want http://… or https://…
growth $D/leaky --config nofile.yaml     | nofile.yaml: no such file or directory: check the path
growth $D/leaky --config note.txt        | note.txt:1: the file: want keys and values: version, thresholds, total, sites, suppressions, all
growth -- $D/leaky --top 3               | --top is no PATH: flags are given before --; see heaplapse growth --help
report $D/leaky report.html              | report.html is no PATH of snapshots: -o report.html writes the page there; see heaplapse report --help
report $D/leaky -o r.pdf                 | -o r.pdf: the page is HTML: name it r.html, and let a browser print it
report $D/leaky --format md -o r.html    | -o r.html: the output is Markdown: --format html writes HTML, or name it r.md
report $D/leaky --format html -o r.md    | -o r.md: the output is HTML: --format md writes Markdown, or name it r.html
report $D/leaky -o empty                 | --output empty: is a directory: want the name of a file in it; see heaplapse report --help
report $D/leaky -o nodir/r.html          | --output nodir/r.html: there is no directory nodir: make it first; see heaplapse report --help
report $D/leaky -o r.html --moments 1    | --moments 1: want 2 or more
report $D/leaky -o r.html --format pdf   | --format pdf: want html, md or json; see heaplapse report --help
watch                                    | no argument: the command is heaplapse watch DIR; see heaplapse watch --help
watch $D/leaky $D/leaky                  | 2 arguments: the command is heaplapse watch DIR; see heaplapse watch --help
watch ␀                                  | DIR is empty: name the directory that snapshots are written to
watch note.txt                           | watch takes a directory or a prefix, and note.txt is neither: name the directory that snapshots are written to
watch $D/leaky --min-snapshots -1        | --min-snapshots -1: want a whole number, 1 or more; see heaplapse watch --help
top $D/leaky --snapshot 0                | --snapshot 0: want a whole number, 1 or more; see heaplapse top --help
growth $D/leaky --debug-dir nodir        | --debug-dir nodir: does not exist here: want the path of a directory with debug files, or of such a file; see heaplapse growth --help
26649                                    | unknown command "26649": did you mean heaplapse attach 26649?; see heaplapse --help
$D/leaky                                 | unknown command "$D/leaky": did you mean heaplapse growth $D/leaky?; see heaplapse --help
/bin/ls                                  | unknown command "/bin/ls": did you mean heaplapse record -- /bin/ls?; see heaplapse --help
watch $D/leaky --min-snapshots x         | --min-snapshots x: want a whole number, 1 or more; see heaplapse watch --help
diff $D/leaky                            | 1 argument: the command is heaplapse diff BASE CURRENT; see heaplapse diff --help
diff $D/leaky nodir                      | nodir: no such file or directory, and no heap snapshots have this prefix: check the path, or record a program first: heaplapse record -- CMD
diff $D/leaky $D/leaky $D/leaky          | diff takes two snapshots, or three with --persist
gate                                     | --current is missing: the run to judge; see heaplapse gate --help
gate --current $D/leaky                  | --baseline is missing: an earlier good run, or a directory of them; see heaplapse gate --help
gate $D/leaky $D/leaky                   | unexpected argument $D/leaky: use --baseline PATH for each run, name the directory of baselines, or quote the pattern; see heaplapse gate --help
gate --baseline nodir --current $D/leaky | nodir: no such file or directory, and no heap snapshots have this prefix: check the path, or record a program first: heaplapse record -- CMD
gate --baseline pinned= --current x      | --baseline pinned=: want the path of the reference run; see heaplapse gate --help
gate --baseline pined=x --current x      | --baseline pined=x: pined= is unknown: want pinned=x for the reference run, or ./pined=x for a path; see heaplapse gate --help
gate --baseline bogus=x --current x      | --baseline bogus=x: bogus= is unknown: want pinned=x for the reference run, or ./bogus=x for a path; see heaplapse gate --help
gate --percent ten                       | --percent ten: want a percentage, such as 10 or 0.5%; see heaplapse gate --help
gate --z x                               | --z x: want a number, 0 or more; see heaplapse gate --help
gate --bytes 1XB                         | --bytes 1XB: want a size, such as 64KiB or 1MiB; see heaplapse gate --help
gate -o jsn=x                            | --output jsn=x: jsn is no format: want text, json, markdown, junit, sarif, pprof; see heaplapse gate --help
gate -o x.json                           | --output x.json: want a format: json=x.json, or text=x.json for the table; see heaplapse gate --help
gate -o json=                            | --output json=: want the name of a file, or - for standard output; see heaplapse gate --help
gate -o junit                            | --output junit: want the name of a file, or - for standard output: junit=FILE, junit=-; see heaplapse gate --help
gate -o x.pdf                            | --output x.pdf: the output is text: name it x.txt; see heaplapse gate --help
gate --format junit                      | unknown flag: --format: use -o FORMAT=FILE, such as -o junit=-; see heaplapse gate --help
gate -o json=x -o junit=x                | --output junit=x: json and junit cannot both go to x; see heaplapse gate --help
gate -o json=nodir/x                     | --output json=nodir/x: there is no directory nodir: make it first; see heaplapse gate --help
baseline save out                        | 1 argument: the command is heaplapse baseline save DIR PATH…; see heaplapse baseline save --help
baseline save out nodir                  | nodir: no such file or directory, and no heap snapshots have this prefix: check the path, or record a program first: heaplapse record -- CMD
baseline save recording $D/leaky         | recording holds a recording, not baselines: the command is heaplapse baseline save DIR PATH…
baseline save out $D/leaky --label x     | --label x: want KEY=VALUE
baseline save out $D/leaky --label a=1 --label a=2 | --label a=2: a is "1" already: give each KEY once
baseline save out x --demangle full      | --demangle full: summaries contain simple names, so that they are comparable; see heaplapse baseline save --help
baseline list                            | no argument: the command is heaplapse baseline list DIR; see heaplapse baseline list --help
baseline list nodir                      | nodir does not exist: heaplapse baseline save nodir PATH makes it
baseline list note.txt                   | note.txt: a file, where a directory is needed: check the path
baseline prune empty --keep 0            | --keep 0: want 1 or more
baseline pin empty x                     | empty: no such baseline: x; heaplapse baseline list empty shows the names
convert $D/leaky                         | convert: -o OUT is missing: a directory, or a file or - for a single result
convert $D/leaky -o c.pb.gz              | -o c.pb.gz: 24 results do not fit in one file: name a directory
convert $D/leaky -o c --merge --delta    | --merge, --delta and --diff exclude each other: give one of them
convert $D/leaky -o c --diff             | --diff takes two PATHs, base and current; there are 1
convert $D/leaky -o c --format svg       | --format svg: want pprof, folded or json; see heaplapse convert --help
convert $D/leaky -o c.svg                | -o c.svg: the output is a profile of pprof: name it c.pb.gz
top $D/leaky --snapshot 99               | --snapshot 99: want a number from 1 to 24
top $D/leaky --sample cpu                | --sample cpu: want inuse_space, inuse_objects, alloc_space or alloc_objects; see heaplapse top --help
view $D/leaky --port 99999               | --port 99999: want 0 to 65535
info nodir                               | nodir: no such file or directory, and no heap snapshots have this prefix: check the path, or record a program first: heaplapse record -- CMD
bundle $D/leaky -o nodir/b.tar.zst       | --output nodir/b.tar.zst: there is no directory nodir: make it first; see heaplapse bundle --help
bundle $D/leaky -o heap.zip              | -o heap.zip: the output is an archive: name it heap.heaplapse.tar.zst
symbolize                                | symbolize: -e FILE is missing: the ELF file that the addresses belong to
symbolize -e nofile                      | nofile: no such file or directory: check the path
symbolize -e note.txt                    | note.txt: not a readable ELF file: want a program, a library or a file of debug information
symbolize 0x1139                         | unexpected argument 0x1139: addresses are read from standard input, one a line; see heaplapse symbolize --help
scrape                                   | no URL given: heaplapse scrape http://HOST:PORT; see heaplapse scrape --help
scrape ftp://localhost                   | a URL begins with ftp://: want http:// or https://
scrape 4711                              | 4711 is no URL: heaplapse attach 4711 records a process, and heaplapse scrape http://localhost:4711 a service at a port; see heaplapse scrape --help
scrape http://127.0.0.1:99999            | port 99999 of a URL: want a port from 1 to 65535
scrape localhost --every often           | --every often: want auto, or a time above 0, such as 30s or 5m; see heaplapse scrape --help
scrape localhost --duration 5            | --duration 5: want a time such as 90s, 10m or 1h30m; see heaplapse scrape --help
scrape localhost --header @nofile        | --header: nofile: no such file or directory: check the path; see heaplapse scrape --help
scrape localhost --cacert note.txt       | --cacert: note.txt has no certificate in PEM form
push $D/leaky                            | no server given: use --to and --url; see heaplapse push --help
push $D/leaky --to loki                  | --to loki: want pyroscope or parca; see heaplapse push --help
push $D/leaky --to parca --url ftp://x   | --url: a URL begins with ftp://: want http:// or https://; see heaplapse push --help
push $D/leaky --to parca --url notaurl --service s | --url notaurl: want the URL of the server, such as http://HOST:4040; see heaplapse push --help
fleet export $D/leaky                    | no -o DIR given: name the directory of the tables
fleet export $D/leaky -o out             | no --service NAME given: sites are compared between the hosts of a service
fleet query leaks                        | 1 argument: the command is heaplapse fleet query QUESTION DIR; see heaplapse fleet query --help
fleet query leak out                     | no question "leak"; there are blast-radius, build-against-previous, coverage, first-bad-build, leaks, memory-limit, new-known-fixed, only-with, outliers
fleet query leaks nodir                  | nodir: no such file or directory: check the path
fleet query leaks s3://x/y               | s3://x/y: no directory on this machine: --print duckdb writes the question for a database that reads it
fleet query leaks x --print mysql        | --print mysql: want duckdb, spark, clickhouse, trino or bigquery; see heaplapse fleet query --help
fleet query leaks x --duckdb nosuch      | --duckdb nosuch: there is no such program: want the path of duckdb, or of a Python that has the package duckdb; see heaplapse fleet query --help
fleet compact nodir                      | nodir: no tables of a fleet: fleet export writes them
record                                   | 125 no command given: heaplapse record -- CMD ARG…; see heaplapse record --help
record --out x -- ls                     | 125 unknown flag: --out: did you mean --output?; see heaplapse record --help
record --engine valgrind -- ls           | 125 --engine valgrind: want builtin, tcmalloc, jemalloc or auto; see heaplapse record --help
record --every often -- ls               | 125 --every often: want auto, 0, or a time such as 30s or 5m; see heaplapse record --help
record --sample-period 0 -- ls           | 125 --sample-period 0: want a size such as 64KiB, or 1, which records every allocation; see heaplapse record --help
record --keep -4 -- ls                   | 125 --keep -4: want a whole number, 0 or more; see heaplapse record --help
record --keep-bytes 1XB -- ls            | 125 --keep-bytes 1XB: want a size, such as 64KiB or 1MiB; see heaplapse record --help
record --library nofile.so -- ls         | 125 --library nofile.so: does not exist here: want the path of a library of tcmalloc or jemalloc; see heaplapse record --help
record --signal FOO -- ls                | 125 --signal FOO: no such signal: want a name like USR2, or a number
record -- ./nofile                       | 127 ./nofile: no such file: check the path of the program
record -- ./note.txt                     | 126 ./note.txt: is not executable: chmod +x makes it so
record -- /tmp                           | 126 /tmp: is a directory: name the program in it
record -o h-%x -- ls                     | 125 --output h-%x: %x is unknown: want %t, %p, %n; %% is a percent sign; see heaplapse record --help
record -o 10% -- ls                      | 125 --output 10%: % is unknown: want %t, %p, %n; %% is a percent sign; see heaplapse record --help
record --duration x -- ls                | 125 --duration x: want a time such as 90s, 10m or 1h30m; see heaplapse record --help
record -- ␀                              | 127 the name of the program is empty: heaplapse record -- CMD ARG…
record 12446                             | 127 12446: no such program: a process that runs is recorded by heaplapse attach 12446
record -- source x                       | 127 source: a command of the shell, not a program: let a shell run it: heaplapse record -- bash -c 'source …; exec CMD'
record -- ./a␣b c                        | 127 "./a b": no such program: it is one quoted word; without the quotes: heaplapse record -- ./a b c
record -- ls␣|␣wc                       | 127 "ls | wc": no such program: it is one quoted word; let a shell run it: heaplapse record -- sh -c '…'
record -- sleep␣1                        | 127 "sleep 1": no such program: it is one quoted word; without the quotes: heaplapse record -- sleep 1
record -- nocommand                      | 127 nocommand: no such program in PATH: give its path, such as ./nocommand
record --or-fail -o /proc/x -- true        | 125 /proc/x: cannot be made there: choose another path
attach                                   | 125 name one process or container: heaplapse attach PID, or heaplapse attach --container NAME; see heaplapse attach --help
attach --pid 123                         | 125 unknown flag: --pid: the number of a process is an argument: heaplapse attach PID; see heaplapse attach --help
attach self                              | 125 "self" is not the number of a process: pgrep NAME prints those of a program; see heaplapse attach --help
attach 99999999                          | 127 there is no process 99999999: pgrep NAME prints the numbers of those of a program
attach 1 2                               | 125 attach takes one process, and records its workers with it: pgrep -o NAME prints the first one of a program; see heaplapse attach --help
attach 0 --every x                       | 125 --every x: want auto, 0, or a time such as 30s or 5m; see heaplapse attach --help
`

// rawErrors are texts of libraries that must not reach the user.
var rawErrors = regexp.MustCompile(`dial tcp|exec: |unknown command "\w+" for|strconv|parsing|heaplapse: yaml|invalid argument|flag needs|shorthand|accepts |requires |(open|stat|create|mkdir) \S+:|Usage:|usage:`)

// TestWrongUsages checks that the answer to a wrong command line is one line that says what to do, that
// nothing is on standard output, and the exit status.
func TestWrongUsages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("record and attach are for Linux")
	}
	data, err := filepath.Abs(testutil.Data(t))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"empty", "summaries", "above/a", "above/b", "recording"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	for name, content := range map[string]string{
		"note.txt": "hello\n", "result.json": "{}\n", "some.zip": "PK\x03\x04\n", "none.heap": "",
		"program": "\x7fELF" + strings.Repeat("\x00", 100), "cut.heaplapse.tar.zst": "\x28\xb5\x2f\xfd\x04",
		"some.heapsnapshot": `{"snapshot":{"meta":{"node_fields":["type"]}}}`, "app.py": "import os\n", "app.c": "int main;\n",
		"recording/heaplapse.manifest.jsonl": "{}", "summaries/x.baseline.json.gz": "", "above/a/p.0001.heap": "", "above/b/p.0001.heap": "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	cases := strings.Split(strings.TrimSpace(wrongUsages), "\n")
	require.Greater(t, len(cases), 60)
	for _, line := range cases {
		line = strings.ReplaceAll(line, "$D", data)
		command, want, found := strings.Cut(line, " | ")
		require.True(t, found, line)
		command, want = strings.TrimSpace(command), strings.TrimSpace(want)
		t.Run(strings.ReplaceAll(command, data, "$D"), func(t *testing.T) { checkUsage(t, dir, command, want) })
	}
}

func checkUsage(t *testing.T, dir, command, want string) {
	status := exitFailure
	for other, s := range map[string]int{"125 ": 125, "126 ": 126, "127 ": 127} {
		if rest, ok := strings.CutPrefix(want, other); ok {
			status, want = s, rest
		}
	}
	args := strings.Fields(command)
	for i := range args {
		args[i] = strings.NewReplacer("␣", " ", "␀", "").Replace(args[i])
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("heaplapse", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	require.Equal(t, status, exit.ExitCode(), stderr.String())
	require.Empty(t, stdout.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	require.True(t, strings.HasPrefix(stderr.String(), "heaplapse: "+want), "got  %swant heaplapse: %s", stderr.String(), want)
	require.NotRegexp(t, rawErrors, stderr.String())
}
