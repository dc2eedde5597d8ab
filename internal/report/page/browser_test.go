package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/source"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/units"
)

// TestMain ends the browser that the tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if stopBrowser != nil {
		stopBrowser()
	}
	os.Exit(code)
}

var stopBrowser context.CancelFunc

// browser starts the one Chromium of all tests.
var browser = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 1200))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	stopBrowser = func() { end(); stop() }
	return ctx, chromedp.Do(ctx)
})

// tab is an open page.
type tab struct {
	*testing.T
	ctx context.Context

	mu    sync.Mutex
	noise []string // errors on the console and requests beyond the file itself
}

// open shows a file in a new tab and waits until its script is done.
func open(t *testing.T, path, hash string, media ...*emulation.MediaFeature) *tab {
	t.Helper()
	testutil.Need(t, "chromium")
	parent, err := browser()
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute) // against a hang; nothing rests on it
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx}
	p.run() // opens it
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	call(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	p.emulate("", media...)
	p.run(chromedp.Navigate("file://"+path+hash), chromedp.WaitReady("html[data-ready]"))
	return p
}

// call sends a command of the protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, command, params)
	require.NoError(p, err)
}

// emulate sets a medium ("print", or "" for a screen) and media features.
func (p *tab) emulate(medium string, features ...*emulation.MediaFeature) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: features})
}

func prefers(theme string) *emulation.MediaFeature {
	return &emulation.MediaFeature{Name: "prefers-color-scheme", Value: theme}
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file:///") {
			p.noise = append(p.noise, "request: "+e.Request.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.noise = append(p.noise, "log: "+e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled:
		p.noise = append(p.noise, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		p.noise = append(p.noise, "exception: "+e.ExceptionDetails.Text)
	}
}

type step = chromedp.Action[chromedp.Void]

func (p *tab) run(steps ...step) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, steps...))
}

// do runs a script for its effect.
func do(script string) step { return chromedp.Evaluate[chromedp.Void](script) }

// eval is the value of an expression in the page.
func eval[T any](p *tab, expression string, options ...chromedp.EvaluateOption) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, options...))
	require.NoError(p, err)
	return v
}

// press types a key while no element has the focus.
func (p *tab) press(keys ...string) {
	p.Helper()
	p.run(do("document.activeElement.blur()"))
	for _, k := range keys {
		p.run(chromedp.KeyEvent(k))
	}
}

func (p *tab) click(selector string) {
	p.Helper()
	p.run(do(fmt.Sprintf("document.querySelector(%q).click()", selector)))
}

// search types into the field that the key / focuses. The key is dispatched within the page,
// because one sent over the protocol would also be typed into the field.
func (p *tab) search(text string) {
	p.Helper()
	p.run(do(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`))
	require.Equal(p, "search", eval[string](p, "document.activeElement.id"))
	p.run(chromedp.KeyEvent(text), settled)
}

// quiet fails if the page sent requests, or wrote to the console.
func (p *tab) quiet() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p, p.noise)
}

// rows are the ranks of the sites in the table.
func (p *tab) rows() []string {
	p.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("tr[data-site]")].map(r => r.dataset.site)`)
}

// width is that of the widest frame of a function in the call tree, in pixels; 0 if it is not
// drawn.
func (p *tab) width(function string) float64 {
	p.Helper()
	return eval[float64](p, fmt.Sprintf(`Math.max(0, ...[...document.querySelectorAll("g.frame")]
		.filter(g => g.getAttribute("aria-label").startsWith(%q)).map(g => Number(g.querySelector("rect").getAttribute("width"))))`, function))
}

// written renders a series into a file.
func written(t *testing.T, path string) (*growthreport.Report, string) {
	t.Helper()
	g, m := build(t, path)
	return g, write(t, m)
}

func write(t *testing.T, m *Model) string {
	t.Helper()
	return writeDocument(t, &Document{models: []*Model{m}})
}

func writeDocument(t *testing.T, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.HTML(&b))
	out := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(out, b.Bytes(), 0o600))
	return out
}

func TestThePageOpensFromDisk(t *testing.T) {
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			_, file := written(t, testutil.Data(t, name))
			p := open(t, file, "")
			require.Equal(t, "true", eval[string](p, "document.documentElement.dataset.ready"))
			require.NotEmpty(t, p.rows())
			require.Positive(t, p.width("heap"))
			require.Positive(t, eval[int](p, `document.querySelectorAll(".plot canvas").length`))
			p.quiet()
		})
	}
}

// TestThePolicyForbidsTheNetwork: even a script within the page cannot send anything.
func TestThePolicyForbidsTheNetwork(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	require.Equal(t, "blocked", eval[string](p, `new Promise(done => {
		document.addEventListener("securitypolicyviolation", () => done("blocked"));
		document.body.append(Object.assign(document.createElement("img"), {src: "http://127.0.0.1:9/x.png"}));
	})`, chromedp.EvalAwaitPromise))
}

// TestTotalsEqualThoseOfGrowth: at each moment the page shows the number that `growth --format
// json` has.
func TestTotalsEqualThoseOfGrowth(t *testing.T) {
	g, file := written(t, testutil.Data(t, "python"))
	var out bytes.Buffer
	require.NoError(t, g.JSON(&out))
	var growth struct {
		Series struct {
			Snapshots []struct {
				Inuse   int64 `json:"inuse_bytes"`
				Objects int64 `json:"inuse_objects"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &growth))
	p := open(t, file, "")
	for i, s := range growth.Series.Snapshots {
		p.run(do(fmt.Sprintf(`location.hash = "t=%d"`, i)), settled)
		require.Equal(t, fmt.Sprint(s.Inuse), eval[string](p, "document.querySelector('#now').dataset.total"))
		require.Contains(t, eval[string](p, "document.querySelector('#status').textContent"), thousandsOf(s.Inuse)+" B)")
		require.Contains(t, eval[string](p, "document.querySelector('#flame svg').getAttribute('aria-label')"), units.Bytes(s.Inuse))
		p.run(do(fmt.Sprintf(`location.hash = "t=%d&kind=inuse_objects"`, i)), settled)
		require.Equal(t, fmt.Sprint(s.Objects), eval[string](p, "document.querySelector('#now').dataset.total"))
	}
}

func thousandsOf(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// settled waits until the page has drawn twice.
var settled = chromedp.Evaluate[chromedp.Void](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))`, chromedp.EvalAwaitPromise)

func TestTheSliderChangesTheCallTree(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "#site=0")
	at := func(moment int) float64 {
		p.run(do(fmt.Sprintf(`(() => { const s = document.querySelector("#moment"); s.value = %d; s.dispatchEvent(new Event("input", {bubbles: true})); })()`, moment)), settled)
		return p.width("leaky::Server::serve_http")
	}
	// Under serve_http 5 of 6 bytes of the leak, all of them before serve_batch begins.
	first, last := at(2), at(23)
	require.Positive(t, first)
	require.NotEqual(t, first, last)
	require.Equal(t, 23, eval[int](p, `Number(new URLSearchParams(location.hash.slice(1)).get("t") ?? 23)`))
	at(0)
	require.Zero(t, p.width("leaky::Server::serve_http"), "the site is not there yet")
	require.True(t, eval[bool](p, `document.querySelector("#flame .frames").hidden`), "an empty tree says so")
	p.quiet()
}

func TestPlayingMovesTheMoment(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	p.press(" ")
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](`Number(document.querySelector("#moment").value) >= 2`))
	require.NoError(t, err)
	require.Equal(t, "Pause", eval[string](p, `document.querySelector(".play").getAttribute("aria-label")`))
	p.press(" ")
	require.Equal(t, "Play", eval[string](p, `document.querySelector(".play").getAttribute("aria-label")`))
}

func TestFiltersFilterEverything(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	all := p.rows()
	require.Equal(t, "0", all[0])

	p.search("TileCache::render")
	require.Equal(t, "TileCache::render", eval[string](p, `document.querySelector("#search").value`))
	require.Equal(t, []string{"2"}, p.rows())
	require.Zero(t, p.width("leaky::Encoder::encode"))
	require.Positive(t, p.width("geom::TileCache::render"))
	require.Contains(t, eval[string](p, `document.querySelector("#status").textContent`), "the filter keeps 6.02 MiB")

	p.run(chromedp.KeyEvent(kb.Escape), settled)
	require.Equal(t, all, p.rows())

	p.click(`[data-label="leak"]`)
	require.Equal(t, []string{"0", "1"}, p.rows())
	p.press(kb.Escape)
	p.run(do(`(() => { const m = document.querySelector("#module"); m.value = "/opt/leaky/lib/libplugin.so"; m.dispatchEvent(new Event("change")); })()`), settled)
	require.Contains(t, p.rows(), "1")
	require.NotContains(t, p.rows(), "0")
	p.press(kb.Escape)

	// A caller is found, too: all that is allocated below it is shown.
	p.search("serve_batch")
	require.Contains(t, p.rows(), "0")
	require.Positive(t, p.width("leaky::Server::serve_batch"))
	require.Zero(t, p.width("leaky::Server::serve_http"))
	p.quiet()
}

func TestAClickOnASiteShowsItsCallPaths(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	p.click(`tr[data-site="0"] .name`)
	require.Equal(t, []string{"0"}, p.rows())
	paths := eval[string](p, `document.querySelector("tr.paths").innerText`)
	for _, want := range []string{"leaky::remember<leaky::Request> leaky.cc:105", "leaky::Server::serve_http leaky.cc:437", "leaky::Server::serve_batch"} {
		require.Contains(t, paths, want)
	}
	require.Zero(t, p.width("geom::TileCache::render"))
	require.Contains(t, eval[string](p, "location.hash"), "site=0")
	p.click(`tr[data-site="0"] .name`)
	require.Greater(t, len(p.rows()), 1)
}

func TestSorting(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	p.click(`[data-focus="sort-growth"]`)
	require.Equal(t, "2", p.rows()[0], "the cache grew by most")
	require.Equal(t, "descending", eval[string](p, `document.querySelector('[data-focus="sort-growth"]').parentElement.ariaSort`))
	p.click(`[data-focus="sort-growth"]`)
	require.Equal(t, "ascending", eval[string](p, `document.querySelector('[data-focus="sort-growth"]').parentElement.ariaSort`))
}

// TestTheDifferenceOfTwoMoments: widths are changes, signs are their directions, and the sum is
// that of the totals.
func TestTheDifferenceOfTwoMoments(t *testing.T) {
	g, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "#t=20&base=2")
	heap := func(i int) int64 { return g.Series.Heads[i].Heap().InuseBytes }
	root := eval[string](p, `document.querySelector("g.frame[data-index='0']").getAttribute("aria-label")`)
	require.Contains(t, root, "+"+units.Bytes(heap(20)-heap(2)))
	require.Contains(t, eval[string](p, `document.querySelector("#status").textContent`), "+"+thousandsOf(heap(20)-heap(2))+" B")
	p.press("d")
	require.NotContains(t, eval[string](p, "location.hash"), "base")
	require.NotContains(t, eval[string](p, `document.querySelector("g.frame[data-index='0']").getAttribute("aria-label")`), "+")
	p.quiet()
}

// TestLinksAndKeys: the address contains what keys selected, and opening it shows the same view.
func TestLinksAndKeys(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	p.press(kb.ArrowLeft, kb.ArrowLeft, "d", "i")
	require.Equal(t, "21", eval[string](p, `document.querySelector("#moment").value`))
	p.run(do(`document.querySelector("g.frame[aria-label^='leaky::Server::serve_http']").focus()`), chromedp.KeyEvent(kb.Enter), settled)
	hash := eval[string](p, "location.hash")
	for _, want := range []string{"t=21", "base=", "flame=up", "zoom="} {
		require.Contains(t, hash, want)
	}
	zoomed := `[document.querySelector("#moment").value, document.querySelector("g.frame[tabindex='0']").ariaLabel, document.querySelector(".base").hidden].join()`
	want := eval[string](p, zoomed)
	require.Contains(t, want, "leaky::Server::serve_http")
	again := open(t, file, hash)
	require.Equal(t, want, eval[string](again, zoomed))
	again.press(kb.Escape)
	require.Contains(t, eval[string](again, zoomed), ",heap")

	theme := "document.documentElement.dataset.theme"
	before := eval[string](p, theme)
	p.press("t")
	require.NotEqual(t, before, eval[string](p, theme))
	p.press("?")
	require.True(t, eval[bool](p, `document.querySelector("dialog").open`))
	p.run(chromedp.KeyEvent(kb.Escape))
	require.False(t, eval[bool](p, `document.querySelector("dialog").open`))
	p.quiet()
}

// TestArrowsMoveBetweenFrames: on a frame, arrow keys move to callees, neighbours and callers.
// Elsewhere they change the moment.
func TestArrowsMoveBetweenFrames(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "#frames=all")
	focused := func() string { return eval[string](p, "document.activeElement.ariaLabel.split(' · ')[0]") }
	p.run(do(`document.querySelector("g.frame[tabindex='0']").focus()`))
	require.Equal(t, "heap", focused())
	var path []string
	for _, k := range []string{kb.ArrowDown, kb.ArrowRight, kb.ArrowLeft, kb.ArrowDown, kb.ArrowUp, kb.ArrowUp} {
		p.run(chromedp.KeyEvent(k))
		path = append(path, focused())
	}
	require.Equal(t, []string{"libc.so.6+0x1098ec", "_start", "libc.so.6+0x1098ec", "libc.so.6+0x891f5", "libc.so.6+0x1098ec", "heap"}, path)
	require.Equal(t, "23", eval[string](p, `document.querySelector("#moment").value`))
	p.quiet()
}

// TestAnInvalidLink shows the page with defaults.
func TestAnInvalidLink(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "#t=999&base=-1&kind=constructor&site=1e3&zoom=NaN&label=__proto__&module=%F0&sort=toString&q=%00")
	require.Equal(t, "23", eval[string](p, `document.querySelector("#moment").value`))
	p.press(kb.Escape)
	require.Equal(t, "0", p.rows()[0])
	p.quiet()
}

// TestHostileNamesStayText: the name of a function may be any text.
func TestHostileNamesStayText(t *testing.T) {
	names := []string{
		`</script><img src=x onerror="document.title='taken'">`, `<img src=x onerror=alert(1)>`, "evil\u202egnp.exe\u2066", strings.Repeat("x", 10_000),
		`{{.Data}}${alert(1)}<!-`, "constructor", "__proto__",
	}
	_, m := build(t, hostileSeries(t, names))
	require.Equal(t, "leak", m.Sites[0].Label, "the names are those of leaks: they are in the headline, too")
	file := write(t, m)
	p := open(t, file, "#site=0")
	require.Equal(t, "true", eval[string](p, "document.documentElement.dataset.ready"))
	require.Zero(t, eval[int](p, `document.querySelectorAll("img").length`))
	require.NotEqual(t, "taken", eval[string](p, "document.title"))
	p.press(kb.Escape)
	text := eval[string](p, `document.body.textContent`)
	for _, want := range []string{names[0][:40], names[1], `evil\u202egnp.exe\u2066`, names[4], strings.Repeat("x", 60), "__proto__"} {
		require.Contains(t, text, want)
	}
	require.LessOrEqual(t, eval[int](p, "document.documentElement.scrollWidth"), 1400, "a long name does not widen the page")
	p.quiet()
}

// hostileSeries is a symbolized series with a leak in a function of each name.
func hostileSeries(t *testing.T, names []string) string {
	t.Helper()
	dir := t.TempDir()
	for n := 1; n <= 12; n++ {
		var symbols, rows strings.Builder
		objects, bytes := 0, 0
		for i, name := range names {
			fmt.Fprintf(&symbols, "0x%x %s\n", 0x1000+i, name)
			count := 1000 * n
			size := count * 1024 * (len(names) - i)
			objects, bytes = objects+count, bytes+size
			fmt.Fprintf(&rows, "%d: %d [%d: %d] @ 0x%x 0x%x\n", count, size, count, size, 0x1000+i, 0x1000+(i+1)%len(names))
		}
		text := fmt.Sprintf("--- symbol\nbinary=/b\n%s---\n--- heap\nheap profile: %d: %d [%d: %d] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n", symbols.String(), objects, bytes, objects, bytes, rows.String())
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", n)), []byte(text), 0o600))
	}
	return dir
}

// TestAccessibility: axe-core finds no fault at three widths, in either theme and on paper.
func TestAccessibility(t *testing.T) {
	axe := axeSource(t)
	_, leaky := written(t, testutil.Data(t, "leaky"))
	_, python := written(t, testutil.Data(t, "python"))
	for name, c := range map[string]struct{ file, hash string }{
		"as it opens": {leaky, ""}, "a site": {leaky, "#site=0&frames=all"}, "a difference": {leaky, "#t=20&base=3"}, "nothing to show": {leaky, "#q=nothing+has+this+name"},
		"warnings": {python, ""}, "source": {lines(t), "#site=0"}, "processes": {workers(t), "#process=2&site=0"},
		"holders": {write(t, looked(t)), "#site=0"},
	} {
		for _, theme := range []string{"light", "dark"} {
			t.Run(name+", "+theme, func(t *testing.T) {
				p := open(t, c.file, c.hash, prefers(theme))
				p.run(do(axe + `
					for (const e of document.querySelectorAll("details")) e.open = true;
					document.querySelector("[data-process]:not([hidden]) h1 .badge").click();
					document.querySelector("button.verdict")?.click();`))
				require.Equal(t, theme, eval[string](p, "document.documentElement.dataset.theme"))
				for _, width := range []int{1300, 420, 360} {
					p.resize(width)
					p.requireAccessible()
				}
				p.press("?")
				p.requireAccessible()
				p.run(chromedp.KeyEvent(kb.Escape), do(`dispatchEvent(new Event("beforeprint"))`))
				p.emulate("print", prefers(theme))
				p.requireAccessible()
			})
		}
	}
}

// resize sets the width of the window.
func (p *tab) resize(width int) {
	p.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: 900, DeviceScaleFactor: 1})
	p.run(settled)
}

func (p *tab) requireAccessible() {
	p.Helper()
	p.run(settled)
	faults := eval[[]string](p, `axe.run().then(r => r.violations
		.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`, chromedp.EvalAwaitPromise)
	require.Empty(p, faults)
}

// axeSource is axe-core, a development dependency of web/.
func axeSource(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("web/node_modules/axe-core/axe.min.js")
	switch {
	case err == nil:
		return string(source)
	case os.Getenv("HEAPLAPSE_AXE") != "":
		require.NoError(t, err)
	}
	t.Skip("axe-core is not installed: scripts/lint-page.sh installs it and runs this test")
	return ""
}

// lines is the page of a Python program whose source is shown.
func lines(t *testing.T) string {
	t.Helper()
	sources, err := source.Open(testutil.Data(t, "lines"))
	require.NoError(t, err)
	defer sources.Close()
	m, err := Build(Options{Growth: judge(t, testutil.Data(t, "lines")), Tool: "test", Sources: sources})
	require.NoError(t, err)
	return write(t, m)
}

// workers is the page of a Python program with four processes, of which one leaks.
func workers(t *testing.T) string {
	t.Helper()
	return writeDocument(t, workersOf(t))
}

func workersOf(t *testing.T) *Document {
	t.Helper()
	dir := testutil.Data(t, "workers", "leak")
	var all []*growthreport.Report
	for _, pid := range []string{"12115", "12109", "12111", "12116"} { // the worst first
		all = append(all, judge(t, filepath.Join(dir, "python3_"+pid+".*")))
	}
	pages := Pages{Options: Options{Tool: "test", Processes: len(all)}}
	for _, g := range all {
		for _, other := range all {
			g.Processes = append(g.Processes, other.OwnProcess())
		}
		require.NoError(t, pages.Add(g))
	}
	return pages.Document()
}

// TestProcesses: each process can be opened, and the same site of several processes is one row.
func TestProcesses(t *testing.T) {
	d := workersOf(t)
	require.Len(t, d.models, 4)
	pooled := d.models[0].Pooled
	require.Len(t, pooled, 1, "the site that leaks in one process; all others are stable in all of them")
	require.Equal(t, "remember", pooled[0].Title)
	require.Equal(t, 1, pooled[0].Leaks)
	var now int64
	for _, m := range d.models {
		for _, s := range m.Sites {
			if s.Title == "remember" {
				now += s.Now
			}
		}
	}
	require.Equal(t, now, pooled[0].Now)
	require.Len(t, pooled[0].Parts, pooled[0].Processes)

	p := open(t, writeDocument(t, d), "")
	headline := `document.querySelector("[data-process]:not([hidden]) h1").innerText`
	require.Contains(t, eval[string](p, headline), "remember workers.py:16")
	total := eval[string](p, `document.querySelector("#now").dataset.total`)
	p.click(`.processes a[href="#process=2"]`)
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](`document.querySelector("[data-opens='2']").classList.contains("chosen")`))
	require.NoError(t, err)
	require.NotContains(t, eval[string](p, headline), "remember")
	require.NotEqual(t, total, eval[string](p, `document.querySelector("#now").dataset.total`))
	p.press(kb.ArrowLeft)
	require.Equal(t, "#process=2&t=11", eval[string](p, "location.hash"))
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll("#flame svg").length`))
	p.click(`.pooled a`)
	_, err = chromedp.Run(p.ctx, chromedp.Poll[bool](`document.querySelector("tr.paths") !== null`))
	require.NoError(t, err)
	require.Contains(t, eval[string](p, headline), "remember workers.py:16")
	p.quiet()
}

// TestNarrowWindows: nothing is wider than the window.
func TestNarrowWindows(t *testing.T) {
	for name, c := range map[string]struct{ file, hash string }{"processes": {workers(t), "#site=0"}, "source": {lines(t), "#site=0&frames=all"},
		"holders": {write(t, looked(t)), "#site=0"}} {
		p := open(t, c.file, c.hash)
		p.run(do(`for (const e of document.querySelectorAll("details")) e.open = true`))
		for _, width := range []int{360, 420, 641, 1000} {
			p.resize(width)
			require.Equal(t, width, eval[int](p, "document.documentElement.scrollWidth"), name)
			wide := eval[[]string](p, `[...document.querySelectorAll("th, td, h1, button, select, input, .name, p, dd")]
				.filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, pre")).map(e => e.outerHTML.slice(0, 90))`)
			require.Empty(t, wide, "%s at %d", name, width)
		}
	}
}

// TestFramesOfRuntimes are folded in call paths and in the call tree, unless they are shown.
func TestFramesOfRuntimes(t *testing.T) {
	p := open(t, lines(t), "#site=0")
	path := `[...document.querySelector(".path ol").children].map(e => e.innerText.trim())`
	require.Equal(t, []string{"9 frames of CPython", "handle app.py:9attributed to this function", "main app.py:24", "<module> app.py:28", "11 frames of CPython"},
		eval[[]string](p, path))
	folded := eval[[]string](p, `[...document.querySelectorAll("g.frame")].map(g => g.getAttribute("aria-label")).filter(l => /^\d+ to \d+ frames of CPython/.test(l))`)
	require.NotEmpty(t, folded)
	require.Zero(t, p.width("python3.11+0x227bd1"))
	p.click(".path .run button")
	require.Contains(t, eval[string](p, `document.querySelector(".path .run ul").innerText`), "JSONDecoder.raw_decode decoder.py:353")
	p.press("r")
	require.Positive(t, p.width("python3.11+0x227bd1"))
	require.Equal(t, "heap", eval[string](p, `document.querySelector("g.frame[tabindex='0']").ariaLabel.split(" · ")[0]`))
	require.Contains(t, eval[string](p, "location.hash"), "frames=all")
	require.NotContains(t, eval[[]string](p, path), "11 frames of CPython")
	p.press("r")
	require.Zero(t, p.width("python3.11+0x227bd1"))
	p.quiet()
}

// TestFilesAndLines are shown where the pointer or the keyboard is.
func TestFilesAndLines(t *testing.T) {
	p := open(t, lines(t), "#site=0")
	tip := `(() => { const t = document.getElementById("tip"); return t.hidden ? "" : t.textContent })()`
	p.run(do(`document.querySelector("tr[data-site='0'] .name").focus()`))
	require.Equal(t, "/opt/lines/app.py:9", eval[string](p, tip))
	p.run(do(`document.activeElement.blur()`))
	require.Empty(t, eval[string](p, tip))
	p.run(do(`document.querySelectorAll(".path .function")[1].dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`))
	require.Equal(t, "/opt/lines/app.py:24", eval[string](p, tip))
	p.run(do(`document.querySelector("g.frame[aria-label^='main']").focus()`), chromedp.KeyEvent(kb.ArrowDown))
	require.Contains(t, eval[string](p, `document.querySelector(".details").textContent`), "handle · /opt/lines/app.py:9")
	require.Contains(t, eval[string](p, `document.querySelector("g.frame[aria-label^='<module>']").ariaLabel`), "/opt/lines/app.py:28 and other lines")
	p.quiet()
}

// TestASiteIsAPage: an opened site is not taller than a window, its source is shown, and buttons show
// the rest.
func TestASiteIsAPage(t *testing.T) {
	p := open(t, lines(t), "#site=0&frames=all")
	p.resize(1300)
	height := `document.querySelector("tr.paths").getBoundingClientRect().height`
	require.LessOrEqual(t, eval[float64](p, height), 900.0)
	require.Equal(t, "9      sessions[request] = json.loads(body(request))  # never removed", eval[string](p, `document.querySelector(".source .named").textContent.trim()`))
	p.click(`[data-focus="frames-0"]`)
	require.Contains(t, eval[string](p, `document.querySelector(".path").innerText`), "python3.11+0x227bd1")
	p.click(`[data-focus="paths"]`)
	require.Equal(t, 8, eval[int](p, `document.querySelectorAll(".path").length`))
	p.quiet()
}

// TestMeanings: a click on a verdict explains it in the words of growth.
func TestMeanings(t *testing.T) {
	g, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "")
	require.Zero(t, eval[int](p, `document.querySelectorAll("tr.why").length`))
	p.click(`[data-focus="why-0"]`)
	require.Equal(t, growthreport.Meaning(&g.Result.Sites[0]), eval[string](p, `document.querySelector("tr.why").innerText.trim()`))
	p.click("h1 .badge")
	require.Equal(t, g.Meaning(), eval[string](p, `document.querySelector(".meaning").innerText`))
	p.quiet()
}

// TestLegend: sites with the same title have their places in the legend.
func TestLegend(t *testing.T) {
	_, m := build(t, testutil.Data(t, "leaky"))
	m.Sites[1].Title, m.packed = m.Sites[0].Title, nil
	p := open(t, write(t, m), "")
	names := eval[[]string](p, `[...document.querySelectorAll(".legend .row .name")].map(e => e.textContent)`)
	require.Contains(t, names, "1 "+m.Sites[0].Where+" "+m.Sites[0].Title)
	require.Contains(t, names, "2 "+m.Sites[1].Where+" "+m.Sites[0].Title)
}

// TestAnEmptySeries: the page does not blame a filter.
func TestAnEmptySeries(t *testing.T) {
	dir := t.TempDir()
	for i := range 7 {
		text := "heap profile:      0:        0 [     0:        0] @ heapprofile\n\nMAPPED_LIBRARIES:\n55d000000000-55d000100000 r-xp 00000000 08:01 1 /opt/x/server\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), []byte(text), 0o600))
	}
	_, file := written(t, dir)
	p := open(t, file, "")
	require.Equal(t, "There are no sites: nothing was in use when the snapshots were taken.", eval[string](p, `document.querySelector("#table .empty").textContent`))
}

// TestAdvisedFlags: the script knows the flags from the document.
func TestAdvisedFlags(t *testing.T) {
	_, m := build(t, testutil.Data(t, "leaky"))
	m.Filtered, m.packed = true, nil
	p := open(t, write(t, m), "")
	require.Contains(t, eval[string](p, `document.getElementById("status").textContent`), " · --focus and --ignore keep 21.6 MiB, 100.0 %")
	m.packed = []byte("damaged")
	p = open(t, write(t, m), "")
	require.Contains(t, eval[string](p, `document.getElementById("failure").textContent`), "; heaplapse report --format md writes them")
}

// TestPrinting: the page is printed in the light theme, without controls, with the full table and
// pictures as wide as the paper, and without animations. Afterwards it looks as before.
func TestPrinting(t *testing.T) {
	_, file := written(t, testutil.Data(t, "leaky"))
	p := open(t, file, "", prefers("dark"))
	before, wide := len(p.rows()), eval[float64](p, chartWidth)
	frames := eval[[]float64](p, `(dispatchEvent(new Event("beforeprint")), [...document.querySelectorAll("g.frame")].filter((g) => !/^translate\(/.test(g.getAttribute("transform")) ||
		g.querySelector(".d3-flame-graph-label").textContent === "").map(Number))`)
	require.Empty(t, frames, "frames without a place or a name")
	edges := eval[[]float64](p, `[...document.querySelectorAll("g.frame")].map((g) => Number(g.getAttribute("transform").match(/translate\(([^,]*),/)[1]) + Number(g.getAttribute("width")))`)
	require.NotEmpty(t, edges)
	require.InDelta(t, 700, slices.Max(edges), 1, "the rightmost frame ends where the picture does")
	require.InDelta(t, 700, eval[float64](p, chartWidth), 1)
	require.Regexp(t, `^0 0 700 \d+$`, eval[string](p, `document.querySelector("#flame svg").getAttribute("viewBox")`))
	require.InDelta(t, 700, eval[float64](p, `document.querySelector("#timeline canvas").getBoundingClientRect().width`), 1)
	p.emulate("print", prefers("dark"))
	p.run(settled)
	require.Equal(t, "light", eval[string](p, "document.documentElement.dataset.theme"))
	require.Greater(t, len(p.rows()), before)
	require.Equal(t, "none", eval[string](p, `getComputedStyle(document.querySelector("#controls .line")).display`))
	p.emulate("", prefers("dark"))
	p.run(do(`dispatchEvent(new Event("afterprint"))`))
	p.run(settled)
	require.Equal(t, "dark", eval[string](p, "document.documentElement.dataset.theme"))
	require.Len(t, p.rows(), before)
	require.InDelta(t, wide, eval[float64](p, chartWidth), 2)
}

// chartWidth is the width of the drawn call tree.
const chartWidth = `Number(document.querySelector("#flame svg").getAttribute("width"))`
