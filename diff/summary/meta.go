package summary

import (
	"cmp"
	"fmt"
	"path"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// meta identifies the run.
func (s *scope) meta(o Options) baseline.Meta {
	h := s.end.Head
	m := baseline.Meta{
		Name: cmp.Or(o.Name, s.series.Dir()), Workload: cmp.Or(o.Workload, baseline.CommandWorkload(o.Command)),
		Command: o.Command, Program: path.Base(symbolize.MainProgram(s.series)), BuildID: BuildID(s.series, s.symbols),
		Format: h.Format.String(), Snapshots: s.Len(), Work: o.Work, HasAlloc: h.HasAlloc, Labels: o.Labels,
		Failure: failure(s.series), Method: s.series.Method(), Engine: s.series.Engine(),
	}
	if h.IsEstimate() {
		m.Period = h.Period
	}
	if c := s.series.Clock; c.Source.IsTime() {
		m.Recorded, m.Span = c.Times[s.Last].UTC().Truncate(time.Millisecond), c.At[s.Last]-c.At[s.First]
	}
	for _, i := range s.half {
		m.AbsentMax = max(m.AbsentMax, s.series.Heads[i].Completeness.AbsentMax.InuseBytes)
	}
	return m
}

// failure returns how the program ended if it failed. A program that the recorder ended did not.
func failure(s *series.Series) string {
	end, of := s.Ended()
	switch {
	case end == nil || of != s.Process.PID || end.Requested:
		return ""
	case end.Signal != "":
		return end.Signal
	case end.Status != nil && *end.Status != 0:
		return fmt.Sprintf("exit status %d", *end.Status)
	}
	return ""
}

// BuildID returns the build ID of the main program; "" if it is unknown.
func BuildID(series *series.Series, symbols *symbolize.Symbols) string {
	program := symbolize.MainProgram(series)
	for i := range symbols.Modules {
		if symbols.Modules[i].Path == program {
			return symbols.Modules[i].BuildID
		}
	}
	return series.BuildIDs[program]
}
