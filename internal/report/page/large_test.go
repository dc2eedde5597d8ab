package page

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestALargePageOpensFast writes 1,000 snapshots of 4,000 stacks of 24 frames (1.5 GB). It logs the
// size of their page, the time to make it, and the time until Chromium shows it.
func TestALargePageOpensFast(t *testing.T) {
	if !testutil.Full() {
		t.Skip("HEAPLAPSE_FULL=1 runs this test: it writes 1.5 GB")
	}
	dir := t.TempDir()
	writeLargeSeries(t, dir, 1000, 4000)
	start := time.Now()
	_, m := build(t, dir)
	file := write(t, m)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(8_000_000))
	require.Len(t, m.Moments, DefaultMoments)
	t.Logf("made in %v: %d bytes, %d leaves in a tree of %d nodes, folded: %+v", time.Since(start).Round(time.Millisecond), info.Size(), len(m.Leaves.Nodes), len(m.Tree.Parents), m.Folded)
	p := open(t, file, "")
	p.quiet()
	t.Logf("shown after %s ms, of which the page's thread computed %.0f ms", eval[string](p, "document.documentElement.dataset.milliseconds"), p.busy())
	before := p.busy()
	p.run(do(`for (let i = 0, s = document.querySelector("#moment"); i < 20; i++) { s.value = 100 + i; s.dispatchEvent(new Event("input")); }`))
	t.Logf("a step of the slider takes %.0f ms of processor time", (p.busy()-before)/20)
}

// busy is the processor time of the page's main thread, in milliseconds. It does not depend on the
// load of the machine.
func (p *tab) busy() float64 {
	p.Helper()
	got, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p, err)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return 1000 * m.Value
		}
	}
	return 0
}

// writeLargeSeries writes stacks that share their callers. The counts of each stack follow a line,
// a curve that levels off or a wave, with noise.
func writeLargeSeries(t *testing.T, dir string, snapshots, stacks int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	addresses := make([]string, stacks)
	size := make([]float64, stacks)
	for i := range stacks {
		size[i] = 100 * math.Exp(7*rnd.Float64())
		for depth := range 24 {
			addresses[i] += fmt.Sprintf(" 0x%x", 0x10000*(24-depth)+rnd.IntN(2+(23-depth)*(23-depth)/2))
		}
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range snapshots {
		path := filepath.Join(dir, fmt.Sprintf("large.%04d.heap", n+1))
		f, err := os.Create(path)
		require.NoError(t, err)
		w := bufio.NewWriterSize(f, 1<<20)
		if n == 0 {
			fmt.Fprint(w, "--- symbol\nbinary=/large\n")
			for depth := range 24 {
				for k := range 2 + depth*depth/2 {
					fmt.Fprintf(w, "0x%x service::layer%d::Handler%d::process\n", 0x10000*(depth+1)+k, depth, k)
				}
			}
			fmt.Fprint(w, "---\n--- heap\n")
		}
		x := float64(n) / float64(snapshots)
		var inuse, objects, alloc int64
		buf := make([]byte, 0, 2<<20)
		for i, a := range addresses {
			shape := []float64{1, x, 1 - math.Exp(-5*x), 1 + math.Sin(20*x)}[i%4]
			count := int64(size[i]*shape*(1+0.05*rnd.NormFloat64())) + 1
			total := int64(size[i]*x*50) + count
			inuse, objects, alloc = inuse+64*count, objects+count, alloc+total
			buf = fmt.Appendf(buf, "%d: %d [%d: %d] @%s\n", count, 64*count, total, 64*total, a)
		}
		fmt.Fprintf(w, "heap profile: %d: %d [%d: %d] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n", objects, inuse, alloc, 64*alloc, buf)
		require.NoError(t, w.Flush())
		require.NoError(t, f.Close())
		at := began.Add(time.Duration(n) * time.Minute)
		require.NoError(t, os.Chtimes(path, at, at))
	}
}
