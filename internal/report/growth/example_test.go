package growth_test

import (
	"context"
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/symbolize"
)

// A series is read, named and judged; the report puts the result into words.
func Example() {
	const data = "../../../testdata/leaky"
	var columns sites.Collector
	s, err := series.Open([]string{data}, series.Options{Visit: columns.Visit})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	symbols, err := symbolize.Resolve(context.Background(), s, symbolize.Options{Sysroot: data + "/sysroot"})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := growthreport.Report{Judged: &pipeline.Judged{
		Series: s, Symbols: symbols, Result: growth.Judge(s, symbols, &columns, growth.Options{}),
	}}
	fmt.Println(g.Result.Verdict.Headline())
	fmt.Println(g.Finding())
	// Output:
	// LEAK
	// leaky::remember<leaky::Request> leaky.cc:105 and 1 more site grow to the end of the series
}
