package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/trend"
)

// Examples can be stored in a file, so that a model can be fitted again without another simulation.

// writeExamples writes a line per example: its truth and its features.
func writeExamples(w io.Writer, examples []*example) {
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }() // w stores the first error
	for _, e := range examples {
		_, _ = fmt.Fprintf(out, "%.0f", e.leak)
		for _, v := range e.f {
			_, _ = fmt.Fprintf(out, " %.5g", v)
		}
		_, _ = out.WriteString("\n")
	}
}

// readExamples reads a file that writeExamples wrote.
func readExamples(path string) ([]*example, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []*example
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != int(trend.FeatureCount)+1 {
			return nil, fmt.Errorf("%s:%d: want %d numbers, found %d",
				path, len(out)+1, trend.FeatureCount+1, len(fields))
		}
		e := &example{}
		for i, text := range fields {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
			}
			if i == 0 {
				e.leak = v
			} else {
				e.f[i-1] = v
			}
		}
		out = append(out, e)
	}
	return out, lines.Err()
}
