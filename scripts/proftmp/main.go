package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

func main() {
	f, _ := os.Create("/tmp/cpu.prof")
	pprof.StartCPUProfile(f)
	var a, b, c, d time.Duration
	for range 40 {
		var col sites.Collector
		t := time.Now()
		s, err := series.Open([]string{"testdata/python"}, series.Options{Visit: col.Visit})
		if err != nil { panic(err) }
		a += time.Since(t); t = time.Now()
		o := symbolize.Options{}
		o.Sysroot = "testdata/python/sysroot"
		sym, err := symbolize.Resolve(context.Background(), s, o)
		if err != nil { panic(err) }
		b += time.Since(t); t = time.Now()
		if false {growth.Judge(s, sym, &col, growth.Options{GroupBy: sites.ByStack})}
		c += time.Since(t); t = time.Now()
		x, _ := compare.NewSide(s, sym, 1, nil)
		y, _ := compare.NewSide(s, sym, 11, nil)
		compare.Snapshots(x, y, compare.Options{})
		d += time.Since(t)
	}
	pprof.StopCPUProfile()
	fmt.Println("open", a/40, "resolve", b/40, "judge", c/40, "compare", d/40)
}
