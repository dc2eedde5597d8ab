package page

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// looked builds the page of a recording in which the recorder looked at what holds the memory.
func looked(t *testing.T) *Model {
	t.Helper()
	g := judge(t, testutil.Data(t, "leaky"))
	way := func(blocks int, last string) answer.Holder {
		return answer.Holder{Blocks: blocks, Kind: answer.Global, Name: "g_requests", Type: "std::vector<Request>", Path: []answer.Step{
			{Type: "leaky::Request<with, many, parameters, that, make, the, name, long>", Length: 41203}, {Type: last},
		}}
	}
	g.Holders = pipeline.Holders{}
	g.Holders.Add(g.Result.Sites[0].Members[0], &answer.Site{Live: 60, Old: 30, Held: answer.Held{Looked: 30, By: []answer.Holder{
		way(18, "char[]"), way(10, "leaky::Body"), {Blocks: 2, Kind: answer.Stack, Name: "worker"},
	}}})
	g.Result.LastRSS = 4 * g.Result.LastHeap
	g.Resident = &rss.Result{
		Schema: rss.Schema, PID: 7, Program: "leaky", Bytes: g.Result.LastRSS, Kernel: g.Result.LastRSS,
		Parts:  []rss.Part{{Kind: rss.Code, Bytes: g.Result.LastRSS / 4}, {Kind: rss.Anonymous, Bytes: g.Result.LastRSS * 3 / 4}},
		Files:  []rss.Mapping{{Name: "/usr/lib/libtorch_cpu.so", Bytes: g.Result.LastRSS / 4, Largest: 9, Count: 4}},
		Shared: []rss.Mapping{}, Anonymous: []rss.Mapping{}, Allocators: []string{},
		Advice: []rss.Advice{{Means: rss.Trim, Bytes: 3 << 20}}, Problems: []string{},
	}
	m, err := Build(Options{Growth: g, Tool: "test"})
	require.NoError(t, err)
	m.AgeEnds = []AgeEnd{{2, 60}, {4, 180}, {7, 3700}}
	m.Sites[0].Ages = []ages.Cohorts{{100 << 10, 0, 0}, {100 << 10, 200 << 10, 0}, {50 << 10, 200 << 10, 150 << 10}}
	m.packed = nil
	return m
}

// TestAgesAreDrawn: each bar has the memory of the parts before, as high as it is large, the oldest at the bottom.
func TestAgesAreDrawn(t *testing.T) {
	p := open(t, write(t, looked(t)), "#site=0")
	type segment struct {
		Of      string
		Y, High float64
	}
	require.Equal(t, []segment{
		{"age-0", 67.5, 22.5}, {"age-1", 67.5, 0}, {"age-2", 67.5, 0},
		{"age-0", 67.5, 22.5}, {"age-1", 22.5, 45}, {"age-2", 22.5, 0},
		{"age-0", 78.75, 11.25}, {"age-1", 33.75, 45}, {"age-2", 0, 33.75},
	}, eval[[]segment](p, `[...document.querySelectorAll(".ages rect")].map(r => ({Of: r.getAttribute("class"), Y: +r.getAttribute("y"), High: +r.getAttribute("height")}))`))
	require.Equal(t, []string{"1m00s", "3m00s", "1h01m"}, eval[[]string](p, `[...document.querySelectorAll(".ages text")].map(e => e.textContent)`))
	require.Equal(t, "in use after 1h01m: 400 KiB, of which 50.0 KiB were allocated before 1m00s",
		eval[string](p, `document.querySelector(".ages svg").getAttribute("aria-label")`))
	require.Equal(t, "200 KiB of what was allocated from 1m00s to 3m00s is in use after 1h01m",
		eval[string](p, `document.querySelectorAll(".ages rect")[7].dataset.tip`))
	p.quiet()
}

// TestWaysAreDrawn: objects that ways share stand once, and a way of few blocks is marked.
func TestWaysAreDrawn(t *testing.T) {
	p := open(t, write(t, looked(t)), "#site=0")
	require.Equal(t, []string{"28 of 30", "18 of 30", "10 of 30", "2 of 30"},
		eval[[]string](p, `[...document.querySelectorAll(".ways .count")].map(e => e.textContent)`))
	require.Equal(t, []string{
		"g_requests (std::vector<Request>)", "leaky::Request<with, many, parameters, that, make, the, name, long> (41,203 entries)",
		"char[]", "leaky::Body", `the stack of thread "worker"`,
	}, eval[[]string](p, `[...document.querySelectorAll(".ways .object")].map(e => e.textContent)`))
	require.Contains(t, eval[string](p, `document.querySelector(".ways li.muted").textContent`), "2 of 30")
	require.Contains(t, eval[string](p, `document.querySelector(".ways li.muted").textContent`), "so few")
}

// TestLongListsOfHolders: of many ways, the first are shown, and the others on request and on paper.
func TestLongListsOfHolders(t *testing.T) {
	g := judge(t, testutil.Data(t, "leaky"))
	held := answer.Held{Looked: 30}
	for i := range 30 {
		held.By = append(held.By, answer.Holder{
			Blocks: 1, Kind: answer.Global, Name: fmt.Sprintf("g_%d", i/3),
			Path: []answer.Step{{Type: fmt.Sprintf("leaky::T%d", i)}},
		})
	}
	g.Holders = pipeline.Holders{}
	g.Holders.Add(g.Result.Sites[0].Members[0], &answer.Site{Live: 60, Old: 30, Held: held})
	m, err := Build(Options{Growth: g, Tool: "test"})
	require.NoError(t, err)
	p := open(t, write(t, m), "#site=0")
	p.resize(1300)
	const lines, button = `document.querySelectorAll(".ways li").length`, `.ways button.more`
	require.Equal(t, 8, eval[int](p, lines))
	require.Less(t, eval[float64](p, `document.querySelector(".ways").getBoundingClientRect().height`), 450.0)
	text := eval[string](p, fmt.Sprintf("document.querySelector(%q).textContent", button))
	require.Regexp(t, `^Show \d+ more lines$`, text)
	p.click(button)
	all := eval[int](p, lines)
	require.Equal(t, fmt.Sprintf("Show %d more lines", all-8), text)
	require.Equal(t, 30, eval[int](p, `new Set([...document.querySelectorAll(".ways .object")].map(e => e.textContent).filter(t => t.startsWith("leaky::T"))).size`))
	require.True(t, eval[bool](p, fmt.Sprintf("document.querySelector(%q) === null", button)))
	p.click("tr[data-site='0'] .name")
	p.click("tr[data-site='0'] .name")
	require.Equal(t, 8, eval[int](p, lines), "folded again")
	p.quiet()
}

// TestWhereTheResidentMemoryIs is in the document itself, unfolded if the heap explains little of it.
func TestWhereTheResidentMemoryIs(t *testing.T) {
	m := looked(t)
	var b bytes.Buffer
	require.NoError(t, (&Document{models: []*Model{m}}).HTML(&b))
	for _, want := range []string{
		`<details class="resident" open>`, "other private memory", "programs, libraries and files", "libtorch_cpu.so", "helps: malloc_trim(0), 3.00 MiB",
	} {
		require.Contains(t, b.String(), want)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "docs/schema/report.schema.json"))
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, m.JSON(&b))
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(document))
}
