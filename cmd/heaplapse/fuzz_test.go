package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// FuzzPipeline makes a series of two texts, with a perf map and a manifest, and runs commands on it.
// No command panics, every failure has a message, every output is well-formed and inert, and the
// commands agree with each other: see fuzzLaws.
func FuzzPipeline(f *testing.F) {
	seeds := fuzzSeeds(f)
	for i := range fuzzLaws {
		f.Add(byte(i), seeds[0], seeds[1], "10000000 40 LazyCompile:~leak</script> /a/b.js:16:3\n", "")
		f.Add(byte(i), seeds[i%len(seeds)], seeds[(i+1)%len(seeds)], "", manifestSeed)
		f.Add(byte(i), pprofSeed(f, 5), pprofSeed(f, 8), "", "")
	}
	for _, recording := range recordingSeeds(f) {
		f.Add(byte(len(fuzzLaws)-2), "", "", recording, "")
	}
	f.Add(byte(len(fuzzLaws)-1), seeds[0], seeds[1], leakSanitizerSeed, "")
	memcheck, err := os.ReadFile(testutil.Data(f, "evidence", "memcheck.xml"))
	require.NoError(f, err)
	f.Add(byte(len(fuzzLaws)-1), seeds[0], seeds[1], string(memcheck), "")
	f.Fuzz(func(t *testing.T, law byte, early, late, perf, manifest string) {
		if len(early)+len(late)+len(perf)+len(manifest) > 1<<17 {
			return
		}
		r := &fuzzRun{T: t, dir: t.TempDir(), text: perf}
		require.NoError(t, os.Mkdir(r.dir+"/none", 0o700))
		for i := range 8 {
			text := early
			if i >= 4 {
				text = late
			}
			testutil.WriteFile(t, fmt.Sprintf("%s/in/p_7.%04d.heap", r.dir, i+1), text, 0o600)
		}
		testutil.WriteFile(t, r.dir+"/in/perf-7.map", perf, 0o600)
		testutil.WriteFile(t, r.dir+"/text", perf, 0o600)
		if manifest != "" {
			testutil.WriteFile(t, r.dir+"/in/heaplapse.manifest.jsonl", manifest, 0o600)
		}
		fuzzLaws[int(law)%len(fuzzLaws)](r)
	})
}

// FuzzNames puts a name into every place that a snapshot has for one: the documents that gate and
// report write are well-formed, and the name is text in them.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"std::map<a, b>::operator[]", "</script><script>alert(1)</script>", "a]]>b", "<!--", "\x1b[31m", "x|y`z`", "\u202eevil", "\xff\xfe",
		"${{ secrets }}", "&amp;&#0;", "a\tb", "::error::x", "=1+1", "\x00",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = strings.NewReplacer("\n", " ", "\r", " ").Replace(name)
		r := &fuzzRun{T: t, dir: t.TempDir()}
		require.NoError(t, os.Mkdir(r.dir+"/none", 0o700))
		for i := range 8 {
			n := 1 + i/4*3
			text := fmt.Sprintf("--- symbol\nbinary=%[1]s\n0x55d000001000 %[1]s\n0x55d000002000 main--%[1]s\n---\n--- heap\n"+
				"heap profile: %[2]d: %[3]d [%[2]d: %[3]d] @ heapprofile\n"+
				"  %[2]d: %[3]d [%[2]d: %[3]d] @ 0x55d000001000 0x55d000002000 0x7f0000000010\n"+
				"\nMAPPED_LIBRARIES:\n55d000000000-55d000100000 r-xp 00000000 08:01 1 /opt/x/server\n"+
				"7f0000000000-7f0000010000 r-xp 00000000 08:01 2 /lib/%[1]s\n", name, n, n<<20)
			testutil.WriteFile(t, fmt.Sprintf("%s/in/p_7.%04d.heap", r.dir, i+1), text, 0o600)
		}
		r.gateIsWellFormed()
		r.reportIsInert()
	})
}

// fuzzSeeds returns snapshots: small ones with hostile names, and recorded ones of each allocator.
func fuzzSeeds(f *testing.F) []string {
	const maps = `
MAPPED_LIBRARIES:
55d000000000-55d000100000 r-xp 00000000 08:01 1 /opt/x/server
10000000-10100000 rwxp 00000000 00:00 0
7f0000000000-7f0000010000 r-xp 00000000 08:01 2 /lib/li]]>b.so
`
	const symbols = "--- symbol\nbinary=/opt/x/server\n0x55d000001000 std::map<a, b>::\"</script>\"--x|y`z`\n---\n--- heap\n"
	seeds := []string{
		symbols + "heap profile:     30:   3000000 [    60:   6000000] @ heapprofile\n" +
			"    10:  1000000 [    20:   2000000] @ 0x10000008 0x55d000001000 0x7f0000001000\n" +
			"    20:  2000000 [    40:   4000000] @ 0x10000048 0x55d000001100\n" + maps,
		symbols + "heap profile:     60:   9000000 [    90:   9900000] @ heapprofile\n" +
			"    30:  5000000 [    40:   5500000] @ 0x10000008 0x55d000001000 0x7f0000001000\n" +
			"    30:  4000000 [    50:   4400000] @ 0x10000048 0x55d000001100\n" + maps,
		"heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n  t0: 352: 16777344 [0: 0]\n@ 0x10000008 0x55d000001000\n" +
			"  t*: 13: 6688 [0: 0]\n  t0: 12: 6496 [0: 0]\n" + maps,
	}
	for _, name := range []string{
		"leaky/leaky.0004.heap.gz", "leaky/leaky.0024.heap.gz", "leaky-jemalloc/leaky.*.3.i3.heap.gz",
		"dialects/sampled/*.0001.heap.gz", "dialects/growth.growth.gz", "blame/go_profile/*.heap.gz",
	} {
		found, err := filepath.Glob(testutil.Data(f, name))
		require.NoError(f, err)
		require.NotEmpty(f, found, name)
		for _, path := range found {
			seeds = append(seeds, beginning(unpacked(f, path)))
		}
	}
	return seeds
}

// pprofSeed returns a heap profile as Go writes it, not compressed, with some objects of 1 MiB.
func pprofSeed(f *testing.F, objects int64) string {
	function := &profile.Function{ID: 1, Name: "main.leak[...]", SystemName: "main.leak[...]", Filename: "/src/main.go", StartLine: 3}
	mapping := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/opt/x/server", BuildID: "ab01", HasFunctions: true}
	location := &profile.Location{ID: 1, Mapping: mapping, Address: 0x401000, Line: []profile.Line{{Function: function, Line: 7}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{location}, Value: []int64{9, 9 << 20, objects, objects << 20},
				NumLabel: map[string][]int64{"bytes": {1 << 20}}},
		},
		Mapping: []*profile.Mapping{mapping}, Location: []*profile.Location{location}, Function: []*profile.Function{function},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 512 << 10, TimeNanos: 1_700_000_000_000_000_000,
	}
	var out strings.Builder
	require.NoError(f, p.WriteUncompressed(&out))
	return out.String()
}

// recordingSeeds returns the beginnings of recordings by heaptrack and massif.
func recordingSeeds(f *testing.F) []string {
	packed, err := os.ReadFile(testutil.Data(f, "traces", "heaptrack.shop.zst"))
	require.NoError(f, err)
	decoder, err := zstd.NewReader(nil)
	require.NoError(f, err)
	defer decoder.Close()
	heaptrack, err := decoder.DecodeAll(packed, nil)
	require.NoError(f, err)
	massif := unpacked(f, testutil.Data(f, "traces", "massif.out.shop.gz"))
	return []string{firstLines(string(heaptrack), 2000), firstLines(massif, 600)}
}

// beginning returns the first rows and mappings of a snapshot: an execution is quick.
func beginning(snapshot string) string {
	rows, maps, _ := strings.Cut(snapshot, "MAPPED_LIBRARIES:\n")
	return firstLines(rows, 40) + "\nMAPPED_LIBRARIES:\n" + firstLines(maps, 20)
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// unpacked returns the content of a .gz file.
func unpacked(t testing.TB, path string) string {
	t.Helper()
	return string(testutil.Plain(t, path))
}

const manifestSeed = `{"schema":"heaplapse.manifest/1"}
{"recording":{"started":"2026-01-01T00:00:00Z","recorder":"heaplapse","command":["server"],"engine":"tcmalloc"}}
{"process":{"pid":7,"started":"2026-01-01T00:00:00Z","command":["server"],"exe":"/opt/x/server"}}
{"snapshot":{"file":"p_7.0001.heap","time":"2026-01-01T00:00:10Z","pid":7,"trigger":"time","rss_bytes":9433088}}
`

// leakSanitizerSeed is a report with a hostile name.
const leakSanitizerSeed = `==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 4000000 byte(s) in 20 object(s) allocated from:
    #0 0x55d000001000 in std::map<a, b>::"</script>"--x|y` + "`z`" + ` /src/<script>.cc:29

SUMMARY: LeakSanitizer: 4000000 byte(s) leaked in 20 allocation(s).
`

// fuzzRun is one execution of FuzzPipeline.
type fuzzRun struct {
	*testing.T
	dir  string
	text string // also in the file text
}

// fuzzLaws are what holds for every series.
var fuzzLaws = []func(*fuzzRun){
	(*fuzzRun).listingsAgree, (*fuzzRun).profilesAgree, (*fuzzRun).differencesAddUp, (*fuzzRun).bundlesAreTransparent,
	(*fuzzRun).runEqualsItself, (*fuzzRun).gateIsWellFormed, (*fuzzRun).reportIsInert, (*fuzzRun).textsAreInert,
	(*fuzzRun).listsAreRead, (*fuzzRun).recordingsAgree,
	(*fuzzRun).evidenceIsInert,
}

// call runs a command on the series: $D is the directory. A status other than 0 to 2, a failure
// without a message and control characters in messages fail the test.
func (r *fuzzRun) call(line string) (status int, stdout string) {
	r.Helper()
	var out, errs bytes.Buffer
	args := strings.Fields(strings.ReplaceAll(line, "$D", r.dir))
	// The libraries of this machine are not looked at.
	status = run(r.Context(), append(args, "--no-cache", "--sysroot", r.dir+"/none"), streams{in: bytes.NewReader(nil), out: &out, err: &errs})
	require.Contains(r, []int{exitOK, exitFound, exitFailure}, status, line)
	require.False(r, status == exitFailure && errs.Len() == 0, "%s fails without a message", line)
	r.requireInert(line+": messages", errs.String())
	return status, out.String()
}

// control matches what must not reach a terminal or a document: control characters, and those that
// change the direction of text.
var control = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")

func (r *fuzzRun) requireInert(what, text string) {
	r.Helper()
	if at := control.FindStringIndex(text); at != nil {
		require.Failf(r, "control character", "%s: %q", what, text[max(0, at[0]-40):min(len(text), at[1]+40)])
	}
	require.True(r, utf8.ValidString(text), "%s: invalid UTF-8", what)
}

// parsed runs a command that prints JSON. It returns false if the command fails.
func (r *fuzzRun) parsed(line string, v any) bool {
	r.Helper()
	status, out := r.call(line)
	if status == exitFailure && out == "" {
		return false
	}
	require.NoError(r, json.Unmarshal([]byte(out), v), line)
	return true
}

// fuzzCounts are counts in JSON.
type fuzzCounts struct {
	Objects int64 `json:"inuse_objects"`
	Bytes   int64 `json:"inuse_bytes"`
}

// plain reports whether sums of such counts do not overflow.
func (c fuzzCounts) plain() bool {
	return c.Bytes >= 0 && c.Bytes < 1<<50 && c.Objects >= 0 && c.Objects < 1<<50
}

// fuzzInfo is what info tells of a series.
type fuzzInfo struct {
	Snapshots []struct {
		Path, Format string
		Seq          int
		Period       int64
		Heap         fuzzCounts
		Truncated    bool
		Partial      bool
	}
}

// listingsAgree: growth and info list the same snapshots with the same sizes.
func (r *fuzzRun) listingsAgree() {
	var info fuzzInfo
	var growth struct {
		Series struct {
			Snapshots []struct {
				Path string
				Seq  int
				fuzzCounts
			}
		}
	}
	known := r.parsed("info $D/in --format json", &info)
	judged := r.parsed("growth $D/in --format json", &growth)
	if !judged {
		return // growth may need more than info
	}
	require.True(r, known, "growth reads what info does not")
	require.Len(r, growth.Series.Snapshots, len(info.Snapshots))
	for i, s := range growth.Series.Snapshots {
		require.Equal(r, info.Snapshots[i].Path, s.Path)
		require.Equal(r, info.Snapshots[i].Heap, s.fuzzCounts)
	}
	r.requireSchema("info $D/in --format json --symbols", "info")
	r.requireSchema("growth $D/in --format json --all", "growth")
}

// recordingsAgree: what holds for snapshots holds for those in a recording by heaptrack or massif.
func (r *fuzzRun) recordingsAgree() {
	require.NoError(r, os.RemoveAll(r.dir+"/in"))
	testutil.WriteFile(r, r.dir+"/in/heaptrack.server.7", r.text, 0o600)
	r.listingsAgree()
	r.bundlesAreTransparent()
	status, out := r.call("convert $D/in -o $D/out")
	require.Equal(r, status == exitOK, out != "", "profiles are written exactly if the command succeeds")
}

// profilesAgree: the sum of a converted profile is the total of top.
func (r *fuzzRun) profilesAgree() {
	status, out := r.call("convert $D/in -o $D/out")
	for path := range strings.Lines(out) {
		r.requireProfileOfTop(strings.TrimSpace(path))
	}
	require.Equal(r, status == exitOK, out != "", "profiles are written exactly if the command succeeds")
	r.call("convert $D/in --merge -o $D/out/all.pb.gz")
	r.call("convert $D/in --delta -o $D/delta")
	_, folded := r.call("convert $D/in/p_7.0001.heap --format folded -o -")
	r.requireInert("folded", folded)
}

func (r *fuzzRun) requireProfileOfTop(path string) {
	data, err := os.ReadFile(path)
	require.NoError(r, err)
	p, err := profile.ParseData(data)
	require.NoError(r, err)
	var top struct{ Total int64 }
	snapshot := filepath.Join(r.dir, "in", strings.TrimSuffix(filepath.Base(path), ".pb.gz"))
	if !r.parsed("top "+snapshot+" --format json", &top) {
		return
	}
	sum, column := int64(0), -1
	for i, t := range p.SampleType {
		if t.Type == "inuse_space" {
			column = i
		}
	}
	for _, s := range p.Sample {
		if v := s.Value[column]; v < 0 || v > 1<<50 {
			return
		}
		sum += s.Value[column]
	}
	require.Equal(r, top.Total, sum, path)
}

// differencesAddUp: the difference of two snapshots is that of their totals, and a snapshot does not
// differ from itself.
func (r *fuzzRun) differencesAddUp() {
	type side struct{ Total fuzzCounts }
	var diff struct {
		Base, Current side
		Delta         fuzzCounts
	}
	if r.parsed("diff $D/in/p_7.0001.heap $D/in/p_7.0008.heap --format json", &diff) &&
		diff.Base.Total.plain() && diff.Current.Total.plain() {
		require.Equal(r, diff.Current.Total.Bytes-diff.Base.Total.Bytes, diff.Delta.Bytes)
		require.Equal(r, diff.Current.Total.Objects-diff.Base.Total.Objects, diff.Delta.Objects)
	}
	if r.parsed("diff $D/in/p_7.0001.heap $D/in/p_7.0004.heap --format json", &diff) && diff.Base.Total.plain() {
		require.Zero(r, diff.Delta, "the same content")
	}
	r.call("diff $D/in/p_7.0001.heap $D/in/p_7.0005.heap $D/in/p_7.0008.heap --persist")
}

// bundlesAreTransparent: a command prints the same for a bundle as for the files in it.
func (r *fuzzRun) bundlesAreTransparent() {
	status, _ := r.callBundle()
	if status != exitOK {
		return
	}
	for _, command := range []string{"growth %s --format json --all", "info %s --symbols --format json", "info %s"} {
		wantStatus, want := r.call(fmt.Sprintf(command, "$D/in"))
		gotStatus, got := r.call(fmt.Sprintf(command, "$D/b.tar.zst"))
		require.Equal(r, wantStatus, gotStatus, command)
		require.Equal(r, want, got, command)
	}
}

// callBundle writes b.tar.zst. bundle has no flag --no-cache.
func (r *fuzzRun) callBundle() (int, string) {
	var out, errs bytes.Buffer
	status := run(r.Context(), []string{"bundle", r.dir + "/in", "-o", r.dir + "/b.tar.zst", "--sysroot", r.dir + "/none"},
		streams{in: bytes.NewReader(nil), out: &out, err: &errs})
	require.False(r, status == exitFailure && errs.Len() == 0)
	return status, out.String()
}

// runEqualsItself: a run has no regression against itself, nor against its baseline.
func (r *fuzzRun) runEqualsItself() {
	gate := "gate --baseline %s --current $D/in --force"
	direct, _ := r.call(fmt.Sprintf(gate, "$D/in"))
	require.NotEqual(r, exitFound, direct)
	if status, _ := r.call("baseline save $D/pool $D/in"); status != exitOK {
		return
	}
	saved, _ := r.call(fmt.Sprintf(gate, "$D/pool"))
	require.Equal(r, direct, saved)
	status, _ := r.callPool("baseline list")
	require.Equal(r, exitOK, status)
}

func (r *fuzzRun) callPool(command string) (int, string) {
	var out, errs bytes.Buffer
	status := run(r.Context(), append(strings.Fields(command), r.dir+"/pool"), streams{in: bytes.NewReader(nil), out: &out, err: &errs})
	r.requireInert(command, out.String()+errs.String())
	return status, out.String()
}

// gateIsWellFormed: all forms of the result can be parsed, and agree about the verdict.
func (r *fuzzRun) gateIsWellFormed() {
	status, text := r.call("gate --baseline $D/in/p_7.000[1-4].heap --current $D/in/p_7.000[5-8].heap --force --bytes 1 " +
		"--junit $D/j.xml --sarif $D/s.sarif --json $D/g.json --markdown $D/m.md --pprof $D/p.pb.gz")
	r.requireInert("gate", text)
	result, err := os.ReadFile(r.dir + "/g.json")
	if err != nil {
		require.Equal(r, exitFailure, status)
		return
	}
	requireValid(r, "gate", string(result))
	if sarif, err := os.ReadFile(r.dir + "/s.sarif"); err == nil {
		require.Equal(r, status == exitFound, hasErrors(r.T, sarif), "%s", sarif)
	}
	if junit, err := os.ReadFile(r.dir + "/j.xml"); err == nil {
		r.requireInert("junit", string(junit))
		require.NoError(r, wellFormed(junit))
	}
	if markdown, err := os.ReadFile(r.dir + "/m.md"); err == nil {
		r.requireInert("markdown", string(markdown))
	}
}

// hasErrors reports whether a SARIF document has a result that is an error.
func hasErrors(t *testing.T, document []byte) bool {
	var sarif struct {
		Runs []struct {
			Results []struct{ Level string }
		}
	}
	require.NoError(t, json.Unmarshal(document, &sarif))
	for _, r := range sarif.Runs[0].Results {
		if r.Level == "error" {
			return true
		}
	}
	return false
}

// wellFormed returns the error of a strict XML parser.
func wellFormed(document []byte) error {
	for d := xml.NewDecoder(bytes.NewReader(document)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// reportIsInert: names do not end the elements of the page.
func (r *fuzzRun) reportIsInert() {
	if !r.requireInertPage("report $D/in -o $D/r.html") {
		return
	}
	r.requireSchema("report $D/in --format json", "report")
	_, markdown := r.call("report $D/in --format md -o -")
	r.requireInert("markdown", markdown)
}

// evidenceIsInert: neither do names in the report of another tool.
func (r *fuzzRun) evidenceIsInert() {
	_, out := r.call("growth $D/in --all --evidence $D/text")
	r.requireInert("growth", out)
	r.requireSchema("growth $D/in --format json --all --evidence $D/text", "growth")
	r.requireInertPage("report $D/in -o $D/r.html --evidence $D/text")
}

// requireInertPage runs a command that writes r.html, and reports whether it did.
func (r *fuzzRun) requireInertPage(line string) bool {
	status, _ := r.call(line)
	page, err := os.ReadFile(r.dir + "/r.html")
	require.Equal(r, status == exitFailure, err != nil)
	if err != nil {
		return false
	}
	r.requireInert("page", string(page))
	if plainTags == nil {
		plainTags = tagsOf(r.plainPage())
	}
	require.Equal(r, plainTags, tagsOf(string(page)))
	return true
}

// tagsOf counts the tags that run or hide something.
func tagsOf(page string) map[string]int {
	n := map[string]int{}
	for _, tag := range []string{"<script", "</script", "<style", "</style", "<!--", "<img", "<iframe", "<svg", "<a "} {
		n[tag] = strings.Count(strings.ToLower(page), tag)
	}
	return n
}

// plainTags are the tags of a page without names from outside. A worker runs one execution at a
// time.
var plainTags map[string]int

// plainPage returns a page without names from outside.
func (r *fuzzRun) plainPage() string {
	plain := "heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x1\n\nMAPPED_LIBRARIES:\n"
	for i := range 2 {
		testutil.WriteFile(r, fmt.Sprintf("%s/plain/p.%04d.heap", r.dir, i+1), plain, 0o600)
	}
	status, _ := r.call("report $D/plain -o $D/plain.html")
	require.Equal(r, exitOK, status)
	page, err := os.ReadFile(r.dir + "/plain.html")
	require.NoError(r, err)
	return string(page)
}

// textsAreInert: no table has control characters.
func (r *fuzzRun) textsAreInert() {
	for _, line := range []string{
		"growth $D/in -v --explain 2", "info $D/in --symbols -v", "top $D/in/p_7.0008.heap", "diff $D/in/p_7.0001.heap $D/in/p_7.0008.heap",
		"growth $D/in --group-by stack", "growth $D/in --group-by file", "growth $D/in --group-by module", "growth $D/in --format csv",
	} {
		_, out := r.call(line)
		r.requireInert(line, out)
	}
}

// listsAreRead: a list of the user is refused with its line, or applied.
func (r *fuzzRun) listsAreRead() {
	for _, flag := range []string{"--suppressions", "--blame-rules"} {
		_, out := r.call("growth $D/in " + flag + " $D/text")
		r.requireInert(flag, out)
	}
	_, out := r.call("gate --baseline $D/in/p_7.000[1-4].heap --current $D/in/p_7.000[5-8].heap --force --config $D/text")
	r.requireInert("--config", out)
}

// requireSchema validates the JSON of a command.
func (r *fuzzRun) requireSchema(line, command string) {
	if status, out := r.call(line); status != exitFailure || out != "" {
		requireValid(r, command, out)
	}
}

func requireValid(r *fuzzRun, command, document string) {
	r.Helper()
	schema := fuzzSchemas[command]
	if schema == nil {
		schema = compileSchema(r.T, command)
		fuzzSchemas[command] = schema
	}
	validate(r.T, schema, document)
}

// fuzzSchemas are the schemas of commands; a worker runs one execution at a time.
var fuzzSchemas = map[string]*jsonschema.Schema{}
