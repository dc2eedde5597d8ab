package summary

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// meta identifies the run.
func (s *scope) meta(o Options) baseline.Meta {
	h := s.end.Head
	m := baseline.Meta{
		Name: cmp.Or(o.Name, s.series.Dir()), Workload: cmp.Or(o.Workload, CommandHash(o.Command)), Command: o.Command,
		Program: path.Base(symbolize.MainProgram(s.series)), BuildID: BuildID(s.series, s.symbols), Format: h.Format.String(),
		Snapshots: s.Len(), Work: o.Work, HasAlloc: h.HasAlloc, Labels: o.Labels,
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

// CommandHash returns a hash of a command line, or "" if it is empty. It leaves out the program's
// directory, which may differ between builds.
func CommandHash(command []string) string {
	if len(command) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{path.Base(command[0])}, command[1:]...), "\x00")))
	return "command " + hex.EncodeToString(sum[:6])
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
