package gate_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/symbolize"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata")

const mib = 1 << 20

// run is a run of a service on a night in November.
func run(name string, day int, inuse float64, sites ...baseline.Site) *baseline.Run {
	return &baseline.Run{
		Meta: baseline.Meta{
			Name: name, Recorded: time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC), Workload: "replay", Program: "/opt/shop/bin/shopd",
			BuildID: strings.Repeat(string(rune('a'+day%6)), 40), Format: "heapprofile", Snapshots: 40, Span: 720, HasAlloc: true,
		},
		Total: baseline.Level{Bytes: inuse * mib, Objects: inuse * 100, Peak: inuse * 1.2 * mib, AllocBytes: inuse * 30 * mib, AllocObjects: inuse * 3000},
		Rest:  baseline.Level{Bytes: mib / 2, Objects: 40, AllocBytes: mib, AllocObjects: 90},
		Sites: sites,
	}
}

// site is attributed to the first of its functions.
func site(inuse float64, functions ...symbolize.Frame) baseline.Site {
	return baseline.Site{Level: baseline.Level{Bytes: inuse * mib, Objects: inuse * 64, AllocBytes: inuse * 9 * mib, AllocObjects: inuse * 640}, Frames: functions}
}

func frame(function, file string, line int) symbolize.Frame {
	return symbolize.Frame{Function: function, Module: "/opt/shop/bin/shopd", File: file, Line: line}
}

func level(base gate.Base, before, after, noise float64) gate.Value {
	v := gate.Value{Metric: gate.MetricLevel, Base: base, Before: before * mib, After: after * mib, Noise: noise * mib, Judged: true}
	if noise > 0 {
		v.Z, v.Need = v.Delta()/v.Noise, 3
	}
	return v
}

func exceeds(v gate.Value) gate.Value {
	v.Exceeds = true
	return v
}

func row(status gate.Status, s baseline.Site, fingerprint string, values ...gate.Value) gate.Row {
	return gate.Row{Status: status, Site: &s, Stacks: 1, Thresholds: gate.DefaultThresholds(), Fingerprint: fingerprint, Values: values, Tier: identity.ByNames}
}

var (
	mainFrame   = frame("main", "/src/shop/main.cc", 88)
	serve       = frame("shop::Server::serve", "/src/shop/server.cc", 140)
	cacheInsert = site(36.9, frame("shop::Cache<shop::Item>::insert", "/src/shop/cache.h", 42), serve, mainFrame)
	keepSession = site(3.1, frame("shop::Sessions::keep", "/src/shop/session.cc", 77), serve, mainFrame)
	parse       = site(42, frame("shop::Parser::parse", "/src/shop/parser.cc", 210), serve, mainFrame)
	index       = site(8, frame("shop::Index::rebuild", "/src/shop/index.cc", 19), mainFrame)
	pages       = site(5, frame("std::vector<shop::Page, std::allocator<shop::Page> >::_M_realloc_insert<shop::Page>", "/usr/include/c++/12/bits/vector.tcc", 459),
		frame("shop::Pages::add", "/src/shop/pages.cc", 31), mainFrame)
)

func baselines(inuse float64) (out []*baseline.Run) {
	for i := range 6 {
		r := run(fmt.Sprintf("nightly-202611%d", 19-i), 19-i, inuse+0.3*float64(i%3), cacheInsert, parse)
		out = append(out, r)
	}
	return out
}

// failing has a row of every status.
func failing() *gate.Result {
	pages.Blame = 1
	known := row(gate.Suppressed, index, "5f1d7a2b90c4e386", exceeds(level(gate.BaseSet, 5, 8, 0.2)))
	known.Suppression = &suppress.Entry{Pattern: "Index::rebuild", Reason: "SHOP-1203, fixed by the new index", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}
	moved := row(gate.Moved, pages, "aa", level(gate.BaseSet, 1, 5, 0.1))
	moved.MovedWith = []string{"shop::PageTable::add"}
	hot := row(gate.Regressed, cacheInsert, "0c5b7e1122334455", exceeds(level(gate.BaseSet, 24.6, 36.9, 1.1)), exceeds(level(gate.BaseReference, 24.1, 36.9, 1.1)))
	hot.Stacks = 3
	leak := row(gate.Regressed, keepSession, "1c5b7e1122334455", exceeds(gate.Value{Metric: gate.MetricSlope, Base: gate.BaseSet, Before: 0, After: 15.2 * mib, Noise: mib, Z: 15.2}),
		level(gate.BaseSet, 0, 3.1, 0.2))
	leak.Tier = identity.Unmatched
	old := run("release-4.0", 1, 81, cacheInsert)
	return &gate.Result{
		Verdict: gate.Fail, Current: run("nightly-20261120", 20, 99.1, cacheInsert, keepSession, parse, index, pages), Baselines: baselines(81.8), Reference: old, Significance: true,
		Total: gate.Row{Status: gate.Regressed, Values: []gate.Value{exceeds(level(gate.BaseSet, 82.1, 99.1, 1.6)), exceeds(level(gate.BaseReference, 81, 99.1, 1.6))}},
		Rows: []gate.Row{
			hot, leak, known,
			row(gate.Changed, parse, "2c", level(gate.BaseSet, 40, 42, 0.9)),
			row(gate.New, site(0.4, frame("shop::Metrics::add", "/src/shop/metrics.cc", 12), mainFrame), "3c", level(gate.BaseSet, 0, 0.4, 0)),
			moved,
			row(gate.Improved, site(2, frame("shop::Log::open", "/src/shop/log.cc", 5), mainFrame), "4c", level(gate.BaseSet, 4, 2, 0.1)),
			row(gate.Gone, site(1.5, frame("shop::PageTable::add", "/src/shop/pages.cc", 30), mainFrame), "5c", level(gate.BaseSet, 4, 0, 0.1)),
		},
		Tested: 143, Unchanged: 135,
		Tiers:   identity.Tally{identity.ByNames: {Sites: 130, Bytes: 180 * mib}, identity.ByCallers: {Sites: 6, Bytes: 3 * mib}, identity.ByBlame: {Sites: 2, Bytes: 5 * mib}, identity.Unmatched: {Sites: 5, Bytes: 0.7 * mib}},
		Expired: []suppress.Entry{{Pattern: "shop::Banner", Reason: "gone with 4.1", Until: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Line: 4}},
		Notes:   []gate.Note{{Kind: gate.NoteNoWork}},
	}
}

// TestTheHeadlineHasTheJudgedAmount: a part of the change that only moved between functions does not
// fail the gate, so the headline leaves it out.
func TestTheHeadlineHasTheJudgedAmount(t *testing.T) {
	g := &gatereport.Report{Result: failing()}
	g.Rows[0].Values[0].Moved = 5 * mib
	var text, markdown strings.Builder
	require.NoError(t, g.Text(&text))
	require.NoError(t, g.Markdown(&markdown))
	require.Regexp(t, `^FAIL: .*cache\.h:42  \+7\.30 MiB \(\+30 %`, text.String())
	require.Contains(t, markdown.String(), "level **+7.30 MiB (+30 %")
}

// TestTheRootIsNoCause: all memory is requested below the handler of all requests, before and after.
func TestTheRootIsNoCause(t *testing.T) {
	handler := frame("shop::Service::handle", "/src/shop/service.cc", 5)
	sites := func(inuse float64) (out []baseline.Site) {
		for i := range 4 {
			out = append(out, site(inuse, frame(fmt.Sprintf("shop::f%d", i), "/src/shop/f.cc", 9), handler, mainFrame))
		}
		return append(out, site(0.1, frame("shop::start", "/src/shop/main.cc", 3), mainFrame))
	}
	r := failing()
	r.Baselines[0].Sites, r.Current.Sites = sites(5), sites(6)
	require.NotContains(t, render(t, &gatereport.Report{Result: r}, "txt"), "cause")
	r.Baselines[0].Sites = append(sites(5), cacheInsert, parse)
	r.Current.Sites = append(sites(6), cacheInsert, parse)
	require.Contains(t, render(t, &gatereport.Report{Result: r}, "txt"), "cause: shop::Service::handle service.cc")
}

// TestOneCauseOfManyFunctions: each function grew too little to regress, but one caller has most of
// the growth of the heap.
func TestOneCauseOfManyFunctions(t *testing.T) {
	nodes := func(inuse float64) (out []baseline.Site) {
		for i := range 60 {
			out = append(out, site(inuse, frame(fmt.Sprintf("shop::make%d", i), "/src/shop/node.h", 9),
				frame("shop::Plan::trace", "/src/shop/plan.cc", 50+i), serve, mainFrame))
		}
		return out
	}
	r := failing()
	r.Rows = nil
	r.Baselines[0].Sites = append(nodes(0.1), cacheInsert, parse)
	r.Current.Sites = append(nodes(0.4), cacheInsert, parse, site(4, frame("shop::Log::open", "/src/shop/log.cc", 5), mainFrame))
	g := &gatereport.Report{Result: r}
	for form, want := range map[string]string{
		"text": "CAUSES of the growth since the latest earlier run\n  –  shop::Plan::trace plan.cc: 82 % of the growth, 60 functions\n",
		"md":   "Cause: `shop::Plan::trace plan.cc` 82 % of the growth, 60 functions.",
		"json": `"function": "shop::Plan::trace",`,
	} {
		var b strings.Builder
		require.NoError(t, map[string]func(io.Writer) error{"text": g.Text, "md": g.Markdown, "json": g.JSON}[form](&b))
		require.Contains(t, b.String(), want)
	}
	var b strings.Builder
	require.NoError(t, g.Text(&b))
	require.Regexp(t, `^FAIL: .*; cause: shop::Plan::trace plan\.cc, 82 % of the growth, 60 functions\n`, b.String())
	r.Verdict = gate.Pass
	b.Reset()
	require.NoError(t, g.Text(&b))
	require.NotContains(t, b.String(), "CAUSES")
	require.NotContains(t, b.String(), "cause:")
}

// TestALoopOfPythonIsNoCause: an event loop did not request what it runs. The rules for lines of
// scripts say so, not those for functions.
func TestALoopOfPythonIsNoCause(t *testing.T) {
	line := func(function, file string) symbolize.Frame {
		return symbolize.Frame{Function: function, File: file, Line: 9}
	}
	lines := func(inuse float64) (out []baseline.Site) {
		for i := range 60 {
			out = append(out, site(inuse, line(fmt.Sprintf("make%d", i), "/srv/shop.py"),
				line("BaseEventLoop.run_forever", "/usr/lib/python3.11/asyncio/base_events.py"), line("serve", "/srv/shop.py"), mainFrame))
		}
		return out
	}
	r := failing()
	r.Rows = nil
	r.Baselines[0].Sites = lines(0.1)
	r.Current.Sites = append(lines(0.4), site(4, frame("shop::Log::open", "/src/shop/log.cc", 5), mainFrame))
	var b strings.Builder
	require.NoError(t, (&gatereport.Report{Result: r}).Text(&b))
	require.Contains(t, b.String(), "\n  –  serve shop.py: 82 % of the growth, 60 functions\n")
}

// passing is a night without changes, and with too few baselines to estimate the noise.
func passing() *gate.Result {
	return &gate.Result{
		Verdict: gate.Pass, Current: run("nightly-20261120", 20, 82.0, cacheInsert, parse), Baselines: baselines(81.8)[:2],
		Total: gate.Row{Values: []gate.Value{level(gate.BaseSet, 81.9, 82.0, 0)}}, Tested: 143, Unchanged: 143,
		Tiers: identity.Tally{identity.ByPlace: {Sites: 143, Bytes: 160 * mib}},
		Notes: []gate.Note{{Kind: gate.NoteFewBaselines, Count: 2}},
	}
}

// drifting is within the thresholds against the baselines, but not against the reference run. Its
// callers are unknown.
func drifting() *gate.Result {
	lone := site(53, frame("shop::Cache<shop::Item>::insert", "/src/shop/cache.h", 42))
	drift := row(gate.Regressed, lone, "0c5b7e1122334455", exceeds(level(gate.BaseReference, 40, 53.5, 0.8)), level(gate.BaseSet, 52, 53.5, 0.8))
	drift.Tier = identity.ByBlame
	return &gate.Result{
		Verdict: gate.Fail, Current: run("nightly-20261120", 20, 96, lone), Baselines: baselines(95), Reference: run("release-4.0", 1, 82, lone), Significance: true,
		Total: gate.Row{Values: []gate.Value{level(gate.BaseReference, 82, 96, 2), level(gate.BaseSet, 95, 96, 2)}},
		Rows:  []gate.Row{drift}, Tested: 13, Unchanged: 12,
		Tiers: identity.Tally{identity.ByNames: {Sites: 11, Bytes: 60 * mib}, identity.Unmatched: {Sites: 9, Bytes: 20 * mib}},
	}
}

// TestUnmatchedBytes: a renamed function has no match, and has not lost its name.
func TestUnmatchedBytes(t *testing.T) {
	for function, want := range map[string]string{
		"shop::put":   "25 % of the bytes are on call paths that only the current run or only the latest baseline has: functions are new, gone, ",
		"shop+0x1234": "25 % of the bytes have no match in the baselines: only the totals are comparable, ",
	} {
		result := drifting()
		f := frame(function, "", 0)
		f.Module = "/opt/shop"
		fresh := row(gate.Regressed, site(20, f), "0c", exceeds(level(gate.BaseSet, 0, 20, 0.8)))
		fresh.Tier = identity.Unmatched
		result.Rows = append(result.Rows, fresh)
		require.Contains(t, render(t, rendered(result), "txt"), "\nnote: "+want)
	}
}

// TestWhyARowDoesNotFail: a change that reaches the thresholds has the reason why it does not fail.
func TestWhyARowDoesNotFail(t *testing.T) {
	for doubt, want := range map[gate.Doubt]string{
		"":                 "",
		gate.DoubtSampling: "does not fail: sampling alone explains a change of up to 6.00 MiB",
		gate.DoubtNoise:    "does not fail: runs of one build may differ by 6.00 MiB",
		gate.DoubtUnsteady: "does not fail: it still rose, or rose and fell, in the earlier runs, which explains a change of up to 6.00 MiB",
		gate.DoubtMoved:    "does not fail: what moved varies by up to 6.00 MiB",
	} {
		v := level(gate.BaseSet, 0, 4, 0)
		v.Doubt, v.Chance = doubt, 6*mib
		result := passing()
		result.Rows = []gate.Row{row(gate.New, keepSession, "1c", v)}
		out := render(t, rendered(result), "txt")
		require.Contains(t, out, want)
		require.Equal(t, doubt == "", !strings.Contains(out, "does not fail"))
	}
}

// TestThresholdsThatAreNotReached: a change that is smaller than a threshold has the threshold.
func TestThresholdsThatAreNotReached(t *testing.T) {
	for want, v := range map[string]gate.Value{
		"it is less than 1.00 MiB (--bytes)":            level(gate.BaseSet, 0.1, 1, 0),
		"it is less than 5 % of the heap":               level(gate.BaseSet, 1, 4, 0),
		"it is less than 10 % of what was there before": level(gate.BaseSet, 50, 54.5, 0),
	} {
		result := passing()
		result.Total = gate.Row{Status: gate.Changed, Values: []gate.Value{level(gate.BaseSet, 82, 90, 0)}}
		changed := row(gate.Changed, keepSession, "1c", v)
		changed.Thresholds.Share = 0.05
		result.Rows = []gate.Row{changed}
		g := rendered(result)
		require.Contains(t, render(t, g, "txt"), "\n       does not fail: "+want+"\n")
	}
}

// TestMovedBytesAreMatched: functions that moved are not called unmatched.
func TestMovedBytesAreMatched(t *testing.T) {
	result := drifting()
	result.MovedShare = 0.2
	require.Contains(t, render(t, rendered(result), "txt"),
		"75 % by the names on their stacks, 20 % as functions that moved or were renamed,\n          5 % not matched")
}

// spread is a regression of the whole heap, but of no single function.
func spread() *gate.Result {
	return &gate.Result{
		Verdict: gate.Fail, Current: run("nightly-20261120", 20, 99, parse), Baselines: baselines(82), Significance: true,
		Total: gate.Row{Status: gate.Regressed, Values: []gate.Value{exceeds(level(gate.BaseSet, 82, 99, 1.5))}},
		Rows:  []gate.Row{row(gate.Changed, parse, "2c", level(gate.BaseSet, 41.5, 42, 0.2))}, Tested: 801, Unchanged: 800,
		Tiers: identity.Tally{identity.ByNames: {Sites: 800, Bytes: 180 * mib}},
	}
}

var hostileNames = []string{
	"a|b`c``d\\|e", "<img src=x onerror=alert(1)>", "line\nbreak\r\ttab", "nul\x00bell\x07esc\x1b[31m", "not\xffutf8\ufffe", "rtl\u202eoverride",
	strings.Repeat("Very<Long<", 1000), "](http://evil.example) [x](y)", "@everyone #1 :smile: $x$ ~~y~~ __z__ www.evil.example", "]]>&amp;<!--", "<details></details>", "operator[](int){0}", "-->", "",
	" leading and trailing ", "`", "\\", "|", "*", "{lambda(int)#1}::operator()",
}

// hostile has names that are made to break readers.
func hostile() *gate.Result {
	r := failing()
	r.Current.Meta.Name, r.Current.Meta.Workload = hostileNames[1]+hostileNames[3], hostileNames[0]+hostileNames[2]
	r.Notes = nil
	for _, n := range hostileNames {
		r.Notes = append(r.Notes, gate.Note{Kind: gate.NoteOfRun, Text: n})
	}
	r.Rows = nil
	for i, n := range hostileNames {
		f := symbolize.Frame{Function: n, Module: "/lib/" + n, File: "/src/" + n, Line: -i}
		status := []gate.Status{gate.Regressed, gate.Suppressed, gate.Moved, gate.Changed}[i*4/len(hostileNames)]
		x := row(status, site(1, f, mainFrame, f), "f"+string(rune('a'+i)), exceeds(level(gate.BaseSet, 1, 2, 0.1)))
		x.MovedWith = []string{n}
		x.Suppression = &suppress.Entry{Pattern: n, Reason: n}
		r.Rows = append(r.Rows, x)
	}
	return r
}

var results = map[string]func() *gate.Result{"failing": failing, "passing": passing, "drifting": drifting, "spread": spread, "hostile": hostile}

// forms are the outputs, by the suffix of their golden files.
var forms = map[string]func(*gatereport.Report, io.Writer) error{
	"txt": (*gatereport.Report).Text, "json": (*gatereport.Report).JSON, "md": (*gatereport.Report).Markdown,
	"xml": (*gatereport.Report).JUnit, "sarif": (*gatereport.Report).SARIF, "pprof.txt": pprofText,
}

// pprofText is the profile, printed by pprof's own library.
func pprofText(g *gatereport.Report, w io.Writer) error {
	var b bytes.Buffer
	if err := g.Pprof(&b); err != nil {
		return err
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, p.String())
	return err
}

func render(t *testing.T, g *gatereport.Report, form string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, forms[form](g, &b))
	return b.String()
}

func rendered(result *gate.Result) *gatereport.Report {
	return &gatereport.Report{Result: result, SourceRoot: "/src/shop", Version: "v1.2.3"}
}

// TestGoldenFiles compares every form of every result with its golden file.
func TestGoldenFiles(t *testing.T) {
	for name, result := range results {
		for form := range forms {
			if name == "hostile" && (form == "json" || form == "sarif") {
				continue // these contain full names and are large; other tests check their schemas
			}
			t.Run(name+"."+form, func(t *testing.T) {
				got, file := render(t, rendered(result()), form), filepath.Join("testdata", name+"."+form)
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err, "go test ./internal/report/gate -update writes it")
				require.Equal(t, string(want), got, "go test ./internal/report/gate -update accepts the change")
			})
		}
	}
}
