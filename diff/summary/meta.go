package summary

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/symbolize"
)

// meta identifies the run.
func (s *scope) meta(o Options) baseline.Meta {
	h := s.end.Head
	m := baseline.Meta{
		Name: cmp.Or(o.Name, s.series.Dir()), Workload: cmp.Or(o.Workload, commandHash(o.Command)), Command: o.Command,
		Program: path.Base(symbolize.MainProgram(s.series)), BuildID: s.buildID(), Format: h.Format.String(),
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

// commandHash returns a hash of a command line, or "" if it is empty. It leaves out the program's
// directory, which may differ between builds.
func commandHash(command []string) string {
	if len(command) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{path.Base(command[0])}, command[1:]...), "\x00")))
	return "command " + hex.EncodeToString(sum[:6])
}

// buildID is the build ID of the main program.
func (s *scope) buildID() string {
	program := symbolize.MainProgram(s.series)
	for i := range s.symbols.Modules {
		if s.symbols.Modules[i].Path == program {
			return s.symbols.Modules[i].BuildID
		}
	}
	return s.series.BuildIDs[program]
}
