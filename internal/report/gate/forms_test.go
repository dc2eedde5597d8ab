package gate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/pprof/profile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdownhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// eachResult runs a check on every result, including the hostile one.
func eachResult(t *testing.T, check func(t *testing.T, g *gatereport.Report)) {
	for name, result := range results {
		t.Run(name, func(t *testing.T) { check(t, rendered(result())) })
	}
}

func requireSchema(t *testing.T, file, document string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(file)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(v))
}

func TestGateJSONMeetsItsSchema(t *testing.T) {
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		out := render(t, g, "json")
		require.True(t, strings.HasPrefix(out, "{\n  \"schema\": \"heaplapse.gate/1\""))
		requireSchema(t, filepath.Join(testutil.Root(t), "docs/schema/gate.schema.json"), out)
	})
}

func TestGateJSONHasTheResult(t *testing.T) {
	var out struct {
		Verdict   string
		Functions int
		Rows      []struct {
			Status string
			Blame  struct{ Function string }
			Values []struct {
				Delta float64
				Z     *float64
			}
		}
		Pool []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(render(t, rendered(failing()), "json")), &out))
	require.Equal(t, "fail", out.Verdict)
	require.Equal(t, 143, out.Functions)
	require.Len(t, out.Rows, 8)
	require.Equal(t, "shop::Cache<shop::Item>::insert", out.Rows[0].Blame.Function)
	require.InDelta(t, 12.3*mib, out.Rows[0].Values[0].Delta, 1)
	require.Len(t, out.Pool, 6)
	require.Nil(t, out.Rows[4].Values[0].Z, "without a noise there is no z")
}

func TestSARIFMeetsThePublishedSchema(t *testing.T) {
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		requireSchema(t, "testdata/schema/sarif-schema-2.1.0.json", render(t, g, "sarif"))
	})
}

type sarifDocument struct {
	Runs []struct {
		Results []struct {
			RuleID       string
			Level        string
			Message      struct{ Text string }
			Suppressions []struct{ Justification string }
			Locations    []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           struct{ StartLine int }
				}
			}
			Stacks []struct {
				Frames []struct {
					Location struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI, URIBaseID string }
						}
					}
				}
			}
			PartialFingerprints map[string]string
		}
	}
}

func sarifOf(t *testing.T, g *gatereport.Report) (out sarifDocument) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(render(t, g, "sarif")), &out))
	return out
}

func TestSARIFLevelsOfRegressionsAndChanges(t *testing.T) {
	results := sarifOf(t, rendered(failing())).Runs[0].Results
	require.Len(t, results, 4)
	first := results[0]
	require.Equal(t, "heap-level", first.RuleID)
	require.Equal(t, "error", first.Level)
	require.Equal(t, "heap-slope", results[1].RuleID)
	require.NotEmpty(t, results[2].Suppressions)
	require.Equal(t, "note", results[3].Level)
	require.Equal(t, "cache.h", first.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	require.Equal(t, "SRCROOT", first.Locations[0].PhysicalLocation.ArtifactLocation.URIBaseID)
	require.Equal(t, 42, first.Locations[0].PhysicalLocation.Region.StartLine)
	require.Contains(t, first.Message.Text, "24.6 MiB → 36.9 MiB  +12.3 MiB (+50 %, 11 × noise) against the median of 6 runs")
}

// TestSARIFFingerprintsStay: a row has the same fingerprints in another run and build, at another
// line.
func TestSARIFFingerprintsStay(t *testing.T) {
	later := failing()
	later.Current = run("nightly-20261121", 21, 103, later.Current.Sites...)
	moved := *later.Rows[0].Site
	moved.Frames = append([]symbolize.Frame{}, moved.Frames...)
	moved.Frames[0].Line, moved.Frames[0].File = 99, "/src/shop/store.h"
	later.Rows[0].Site = &moved
	a, b := sarifOf(t, rendered(failing())).Runs[0].Results[0], sarifOf(t, rendered(later)).Runs[0].Results[0]
	require.NotEqual(t, a.Locations, b.Locations)
	require.Equal(t, a.PartialFingerprints, b.PartialFingerprints)
}

func TestSARIFPlacesFilesBelowTheSourceRoot(t *testing.T) {
	for _, c := range []struct{ file, root, uri, base string }{
		{"/src/shop/a b.cc", "/src/shop", "a%20b.cc", "SRCROOT"},
		{"/src/shop/a.cc", "/src/shop/", "a.cc", "SRCROOT"},
		{"/src/shopping/a.cc", "/src/shop", "file:///src/shopping/a.cc", ""},
		{"/usr/include/c++/12/vector", "", "file:///usr/include/c++/12/vector", ""},
		{"src/../src/a.cc", "/src/shop", "src/a.cc", "SRCROOT"},
		{"c:odd.cc", "", "./c:odd.cc", "SRCROOT"},
		{"", "", "shopd", ""},
	} {
		s := site(1, frame("f", c.file, 1))
		result := drifting()
		result.Rows[0].Site = &s
		g := rendered(result)
		g.SourceRoot = c.root
		got := sarifOf(t, g).Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation
		require.Equal(t, c.uri, got.URI, c.file)
		require.Equal(t, c.base, got.URIBaseID, c.file)
	}
}

// TestSARIFFramesOfOtherCode: only the user's own source is below SRCROOT. A frame without a source
// file has no file.
func TestSARIFFramesOfOtherCode(t *testing.T) {
	const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	s := site(1,
		symbolize.Frame{Function: "operator new", Module: "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"},
		frame("shop::Sessions::keep", "session.cc", 77),
		symbolize.Frame{Function: "shop_plugin", Module: "/opt/shop/lib/libplugin.so", File: "plugin/add.c", Line: 3},
		symbolize.Frame{Function: "handle", File: "app/handler.py", Line: 12},
		symbolize.Frame{Function: "add", File: "/usr/lib/python3/dist-packages/numpy/core.py", Line: 9},
		symbolize.Frame{Function: "__libc_start_main_impl", Module: libc, File: "csu/libc-start.c", Line: 360},
		symbolize.Frame{Function: "PyObject_Call", Module: "/opt/conda/lib/libpython3.11.so", File: "Objects/call.c", Line: 3},
	)
	s.Blame = 1
	result := drifting()
	result.Rows[0].Site = &s
	var got []string
	for _, f := range sarifOf(t, rendered(result)).Runs[0].Results[0].Stacks[0].Frames {
		file := f.Location.PhysicalLocation.ArtifactLocation
		got = append(got, file.URIBaseID+" "+file.URI)
	}
	require.Equal(t, []string{" ", "SRCROOT session.cc", "SRCROOT plugin/add.c", "SRCROOT app/handler.py",
		" file:///usr/lib/python3/dist-packages/numpy/core.py", " ", " "}, got)
}

func TestJUnitMeetsThePublishedSchema(t *testing.T) {
	xmllint := testutil.Need(t, "xmllint")
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		file := filepath.Join(t.TempDir(), "junit.xml")
		require.NoError(t, os.WriteFile(file, []byte(render(t, g, "xml")), 0o644))
		out, err := exec.Command(xmllint, "--noout", "--schema", "testdata/schema/junit-10.xsd", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
}

type junitDocument struct {
	Suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func junitOf(t *testing.T, g *gatereport.Report) (out junitDocument) {
	t.Helper()
	require.NoError(t, xml.Unmarshal([]byte(render(t, g, "xml")), &out))
	return out
}

// TestJUnitCountsItsCases: the counts are those of the cases. A failed gate has a failure; a passed
// one has a case and no failure.
func TestJUnitCountsItsCases(t *testing.T) {
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		suite := junitOf(t, g).Suite
		failures, skipped, names := 0, 0, map[string]bool{}
		for _, c := range suite.Cases {
			require.False(t, names[c.Name], "%s is there twice", c.Name)
			names[c.Name] = true
			if c.Failure != nil {
				failures++
			}
			if c.Skipped != nil {
				skipped++
			}
		}
		require.Equal(t, []int{suite.Tests, suite.Failures, suite.Skipped}, []int{len(suite.Cases), failures, skipped})
		require.NotZero(t, suite.Tests)
		require.Equal(t, g.Verdict == gate.Fail, failures > 0)
	})
}

// TestJUnitHasEveryFunction: functions that did not change have a case that passes, so that the list
// is the same every night. If the functions that regressed explain the growth of the heap, they are
// the only failures.
func TestJUnitHasEveryFunction(t *testing.T) {
	result := failing()
	result.Total.Status = gate.Changed
	result.Same = []gate.Row{row(gate.Unchanged, site(7, frame("shop::Items::load", "/src/shop/items.cc", 4)), "6c",
		level(gate.BaseSet, 7, 7, 0.1))}
	suite := junitOf(t, rendered(result)).Suite
	require.Equal(t, len(result.Rows)+2, suite.Tests)
	require.Equal(t, 2, suite.Failures)
	xml := render(t, rendered(result), "xml")
	require.Contains(t, xml, "the functions that regressed explain the growth</system-out>")
	require.Contains(t, xml, `<testcase name="shop::Items::load" classname="heaplapse.function" time="0">
      <system-out>unchanged`)
	require.Contains(t, render(t, rendered(result), "txt"), "FAIL: 2 of 143 functions regressed")
}

// TestAHeapThatShrankBefore: a slope below 0 is another thing than no growth.
func TestAHeapThatShrankBefore(t *testing.T) {
	for before, want := range map[float64]string{
		0: "0 B/h → 700 MiB/h  +700 MiB/h (from no growth)", -90: "-90.0 MiB/h → 700 MiB/h  +790 MiB/h (it shrank before)",
	} {
		result := failing()
		result.Total.Values = []gate.Value{{Metric: gate.MetricSlope, Base: gate.BaseSet, Before: before * mib, After: 700 * mib}}
		require.Contains(t, render(t, rendered(result), "xml"), "growth "+want)
	}
}

// TestJUnitNamesStay: the order of two functions with the same name does not change the names of
// their cases.
func TestJUnitNamesStay(t *testing.T) {
	rows := []gate.Row{
		row(gate.Changed, site(3, frame("(anonymous namespace)::grow", "/src/a.cc", 1)), "f1", level(gate.BaseSet, 1, 3, 0)),
		row(gate.Changed, site(2, frame("(anonymous namespace)::grow", "/src/b.cc", 1)), "f2", level(gate.BaseSet, 1, 2, 0)),
		row(gate.Changed, site(2, frame("(anonymous namespace)::grow", "/src/b.cc", 9)), "f3", level(gate.BaseSet, 1, 2, 0)),
		row(gate.Changed, site(2, frame("alone", "/src/b.cc", 20)), "f4", level(gate.BaseSet, 1, 2, 0)),
	}
	names := func() (out []string) {
		result := passing()
		result.Rows = rows
		for _, c := range junitOf(t, rendered(result)).Suite.Cases {
			out = append(out, c.Name)
		}
		return out
	}
	want := []string{"the heap as a whole", "(anonymous namespace)::grow (a.cc)", "(anonymous namespace)::grow (b.cc) (f2)", "(anonymous namespace)::grow (b.cc) (f3)", "alone"}
	require.Equal(t, want, names())
	slices.Reverse(rows)
	require.ElementsMatch(t, want, names())
}

// TestJUnitShowsSomeHundredRows and counts those that it leaves out.
func TestJUnitShowsSomeHundredRows(t *testing.T) {
	result := failing()
	for i := range 3000 {
		s := site(1, frame(fmt.Sprintf("f%d", i), "a.cc", i))
		result.Rows = append(result.Rows, row(gate.Changed, s, fmt.Sprint(i), level(gate.BaseSet, 1, 2, 0.1)))
	}
	suite := junitOf(t, rendered(result)).Suite
	require.Equal(t, 501, suite.Tests, "with the heap as a whole")
	require.Equal(t, 3, suite.Failures)
	require.Contains(t, render(t, rendered(result), "xml"), "2508 more functions left out")
}

// markdown renders as GitHub does, including HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(markdownhtml.WithUnsafe()))

// cells matches those of tables.
func cells(html string) int { return len(cell.FindAllString(html, -1)) }

var cell = regexp.MustCompile(`<t[dh][ >]`)

func html(t testing.TB, document string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, markdown.Convert([]byte(document), &b))
	return b.String()
}

// TestMarkdownNamesStayText: a name never becomes markup, a link, or the end of a cell.
func TestMarkdownNamesStayText(t *testing.T) {
	out := html(t, render(t, rendered(hostile()), "md"))
	for _, tag := range []string{"<img", "<script", "<a ", "<del", "<strong>z", "<em"} {
		require.False(t, strings.Contains(out, tag), "%s:\n%.2000s", tag, out)
	}
	require.Equal(t, strings.Count(out, "<details>"), strings.Count(out, "</details>"))
	for _, r := range out {
		require.True(t, r == '\n' || !unicode.IsControl(r), "%U", r)
	}
	for table := range strings.SplitSeq(out, "<table>") {
		body, _, _ := strings.Cut(table, "</table>")
		require.Zero(t, cells(body)-(6+strings.Count(body, "<th></th>"))*strings.Count(body, "<tr>"), "six cells a row, seven with a status:\n%.3000s", body)
	}
}

// FuzzMarkdownNames: the rendered document contains every name as text, and every row has six
// cells.
func FuzzMarkdownNames(f *testing.F) {
	for _, n := range hostileNames {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := site(1, frame(name, "a.cc", 1), frame(name, "b.cc", 2))
		result := drifting()
		result.Rows[0].Site = &s
		out := html(t, render(t, rendered(result), "md"))
		require.Equal(t, 6*strings.Count(out, "<tr>"), cells(out))
		for _, tag := range []string{"<img", "<script", "<a ", "<del", "<em"} {
			require.False(t, strings.Contains(out, tag), "%s:\n%.2000s", tag, out)
		}
		require.Equal(t, 2, strings.Count(out, "<details>"))
	})
}

// TestMarkdownIsTruncatedAtItsLimit, with a note. The verdict is complete, and regressions come
// first.
func TestMarkdownIsTruncatedAtItsLimit(t *testing.T) {
	result := failing()
	for i := range 20000 {
		s := site(1, frame(fmt.Sprintf("shop::Generated%d::run", i), "generated.cc", i), serve, mainFrame)
		result.Rows = append(result.Rows, row(gate.Changed, s, fmt.Sprint(i), level(gate.BaseSet, 1, 1.1, 0.1)))
	}
	for _, limit := range []int{gatereport.MinMarkdownLimit, 64 << 10, 0} {
		g := rendered(result)
		g.MarkdownLimit = limit
		out, want := render(t, g, "md"), limit
		if want == 0 {
			want = gatereport.DefaultMarkdownLimit
		}
		require.LessOrEqual(t, len(out), want)
		require.Greater(t, len(out), want*9/10-1000, "the room is used")
		require.True(t, strings.HasPrefix(out, "## ❌ heaplapse: 2 of 143 functions regressed\n"))
		require.Regexp(t, `> Truncated to stay below [0-9.]+ [KM]iB: \d+ rows left out`, out[max(0, len(out)-300):])
	}
	require.NotContains(t, render(t, rendered(failing()), "md"), "Truncated to")
}

// TestMarkdownHasTheVerdictAtTheMinimumLimit covers names of any length.
func TestMarkdownHasTheVerdictAtTheMinimumLimit(t *testing.T) {
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		g.MarkdownLimit = gatereport.MinMarkdownLimit
		out := render(t, g, "md")
		require.LessOrEqual(t, len(out), gatereport.MinMarkdownLimit)
		require.Contains(t, out, "heaplapse: ")
	})
	g := rendered(failing())
	g.MarkdownLimit = gatereport.MinMarkdownLimit - 1
	require.ErrorContains(t, g.Markdown(&bytes.Buffer{}), "too small")
}

// TestTextFitsALog: lines without names are not wider than a CI log, and the first line has the
// verdict and the worst function.
func TestTextFitsALog(t *testing.T) {
	eachResult(t, func(t *testing.T, g *gatereport.Report) {
		out := render(t, g, "txt")
		first, _, _ := strings.Cut(out, "\n")
		require.True(t, strings.HasPrefix(first, strings.ToUpper(string(g.Verdict))+": "))
		require.LessOrEqual(t, len([]rune(first)), 130)
		for _, r := range out {
			require.True(t, r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r), "%U", r)
		}
	})
	for line := range strings.Lines(render(t, rendered(failing()), "txt")) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 112, line)
	}
}

// TestPprofIsCurrentMinusBase: the samples sum to the heap minus that of the median baseline, and
// those of the base are labelled.
func TestPprofIsCurrentMinusBase(t *testing.T) {
	result := failing()
	var b bytes.Buffer
	require.NoError(t, rendered(result).Pprof(&b))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	index, err := p.SampleIndexByName("inuse_space")
	require.NoError(t, err)
	sum := func(base bool) (n int64) {
		for _, s := range p.Sample {
			if s.DiffBaseSample() == base {
				n += s.Value[index]
			}
		}
		return n
	}
	total := func(r *baseline.Run) (n float64) {
		for _, s := range r.Sites {
			n += s.Bytes
		}
		return n + r.Rest.Bytes
	}
	require.InDelta(t, total(result.Current), sum(false), 10)
	require.InDelta(t, -total(result.Baselines[0]), sum(true), 10)
	require.Contains(t, p.Comments, "base: nightly-20261118", "the baseline whose heap is the median")
	require.Equal(t, time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano(), p.TimeNanos)
}

// TestPprofWithoutABaseIsTheRun. It has no cumulative counts if one of the runs has none.
func TestPprofWithoutABaseIsTheRun(t *testing.T) {
	result := passing()
	result.Baselines, result.Current.Meta.HasAlloc = nil, false
	var b bytes.Buffer
	require.NoError(t, rendered(result).Pprof(&b))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	require.Len(t, p.SampleType, 2)
	require.Len(t, p.Sample, 3)
}

// TestPprofOpensInPprof: the tool itself shows the change.
func TestPprofOpensInPprof(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gate.pb.gz")
	var b bytes.Buffer
	require.NoError(t, rendered(failing()).Pprof(&b))
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index=inuse_space", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "shop::Sessions::keep")
	require.Regexp(t, `3\.10MB .* shop::Sessions::keep`, string(out))
}

// TestPprofsTopIsTheRequestingFunction: two functions that use one allocator are two lines, and the
// allocator has none. The file that pprof shows is the program, not the library that comes first in
// a stack.
func TestPprofsTopIsTheRequestingFunction(t *testing.T) {
	library := frame("std::__new_allocator::allocate", "/usr/include/c++/12/bits/new_allocator.h", 137)
	library.Module = "/usr/lib/libstdc++.so.6"
	grows := site(30, library, frame("shop::Catalog::load", "/src/shop/catalog.cc", 12), mainFrame)
	shrinks := site(20, library, frame("shop::Orders::accept", "/src/shop/orders.cc", 25), mainFrame)
	grows.Blame, shrinks.Blame = 1, 1
	result := passing()
	result.Current, result.Baselines = run("tonight", 20, 30, grows), []*baseline.Run{run("yesterday", 19, 20, shrinks)}
	file := filepath.Join(t.TempDir(), "gate.pb.gz")
	var b bytes.Buffer
	require.NoError(t, rendered(result).Pprof(&b))
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	out, err := exec.Command("go", "tool", "pprof", "-top", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?s)^File: shopd\n.* flat%.*\n +30MB .* shop::Catalog::load\n +-20MB .* shop::Orders::accept\n`, string(out))
	require.NotContains(t, string(out), "allocate")
}
