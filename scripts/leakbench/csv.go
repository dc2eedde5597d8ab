package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// writeCSV writes a line per function: truth, behaviour, the detector's result, and the curve in
// the files. Semicolons separate the values of a curve. A value that truncation hides is empty.
func writeCSV(w io.Writer, all []outcome) {
	out := csv.NewWriter(w)
	// w stores the first error.
	_ = out.Write([]string{"seed", "snapshots", "mode", "function", "behaviour", "truth", "leaked_bytes", "sigma_bytes",
		"label", "called_leak", "confidence", "rank", "stacks",
		"seconds", "inuse_bytes", "inuse_objects", "alloc_bytes", "alloc_objects"})
	for i := range all {
		_ = out.Write(all[i].fields())
	}
	out.Flush()
}

func (o *outcome) fields() []string {
	return []string{
		fmt.Sprint(o.Seed), strconv.Itoa(o.Snapshots), o.Mode, o.Name, o.Behaviour,
		string(o.Verdict), strconv.FormatInt(o.Leaked, 10), strconv.FormatFloat(o.Sigma, 'f', 0, 64),
		o.label, strconv.FormatBool(o.called), strconv.FormatFloat(o.confidence, 'f', 4, 64),
		strconv.Itoa(o.rank), strconv.Itoa(o.stacks),
		joined(o.Observed.Seconds), joined(o.Observed.Bytes), joined(o.Observed.Objects),
		joined(o.Observed.AllocBytes), joined(o.Observed.Allocs),
	}
}

func joined(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			parts[i] = strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return strings.Join(parts, ";")
}
