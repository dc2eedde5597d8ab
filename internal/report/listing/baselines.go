package listing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Baselines is the list of the runs in a baseline set.
type Baselines struct {
	*baseline.Set
}

// Text writes the table for a terminal.
func (b *Baselines) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	if len(b.Entries) == 0 {
		p.Linef("%s: no baselines; %s %[1]s PATH adds one", text.Clean(b.Dir), option.BaselineSave)
		return p.Err
	}
	p.Linef("%-16s  %10s  %5s  %8s  %9s  %s", "RECORDED", "LEVEL", "SITES", "LASTED", "FILE", "NAME")
	for i := range b.Entries {
		b.row(p, &b.Entries[i])
	}
	return p.Err
}

func (b *Baselines) row(p *text.Printer, e *baseline.Entry) {
	m := &e.Run.Meta
	line := fmt.Sprintf("%-16s  %10s  %5d  %8s  %9s  %s", stamp(m.Recorded), units.Bytes(e.Run.Total.Bytes),
		len(e.Run.Sites), lasted(m.Span), units.Bytes(e.Size), text.Clean(m.Name))
	if e.Reference {
		line += "  reference run"
	}
	for _, s := range []string{workload(m), labels(m.Labels)} {
		if s != "" {
			line += "  " + s
		}
	}
	p.Linef("%s", line)
}

// stamp is a time to the minute, or – if it is zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// lasted is a duration in seconds, or – if it is zero.
func lasted(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return units.Duration(seconds)
}

// workload is what ran and how it was sampled.
func workload(m *baseline.Meta) string {
	var out []string
	switch name := m.WorkloadName(); {
	case name != m.Workload: // a command line
		out = append(out, fmt.Sprintf("workload %q", text.Clip(name, 40)))
	case name != "":
		out = append(out, "workload "+text.Clip(name, 40))
	}
	if m.Work > 0 {
		out = append(out, fmt.Sprintf("work %g", m.Work))
	}
	if m.Period > 1 {
		out = append(out, "sampled per "+units.Bytes(m.Period))
	}
	return strings.Join(out, "  ")
}

// labels are KEY=VALUE, sorted by key.
func labels(l map[string]string) string {
	var out []string
	for k, v := range l {
		out = append(out, text.Clip(k+"="+v, 60))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

type baselinesJSON struct {
	Schema    string         `json:"schema"`
	Dir       string         `json:"dir"`
	Baselines []baselineJSON `json:"baselines"`
	Problems  []string       `json:"problems"`
}

type baselineJSON struct {
	Name         string            `json:"name"`
	Path         string            `json:"path"`
	Pinned       bool              `json:"pinned"`
	Recorded     *time.Time        `json:"recorded"`
	Workload     string            `json:"workload"`
	Command      []string          `json:"command"`
	Work         float64           `json:"work"`
	Program      string            `json:"program"`
	BuildID      string            `json:"build_id"`
	Format       string            `json:"format"`
	Period       int64             `json:"period"`
	Snapshots    int               `json:"snapshots"`
	Span         float64           `json:"span_seconds"`
	InuseBytes   float64           `json:"inuse_bytes"`
	InuseObjects float64           `json:"inuse_objects"`
	Sites        int               `json:"sites"`
	FileBytes    int64             `json:"file_bytes"`
	Labels       map[string]string `json:"labels"`
}

// JSON writes the result as heaplapse.baselines/1.
func (b *Baselines) JSON(w io.Writer) error {
	out := baselinesJSON{Schema: "heaplapse.baselines/1", Dir: b.Dir, Baselines: []baselineJSON{}, Problems: []string{}}
	for i := range b.Entries {
		out.Baselines = append(out.Baselines, entryJSON(&b.Entries[i]))
	}
	for _, p := range b.Problems {
		out.Problems = append(out.Problems, p.Error())
	}
	return text.WriteJSON(w, out)
}

func entryJSON(e *baseline.Entry) baselineJSON {
	r, m := e.Run, &e.Run.Meta
	out := baselineJSON{
		Name: m.Name, Path: e.Path, Pinned: e.Reference, Workload: m.Workload, Work: m.Work, Program: m.Program,
		Command: append([]string{}, m.Command...),
		BuildID: m.BuildID,
		Format:  m.Format, Period: m.Period, Snapshots: m.Snapshots, Span: m.Span, InuseBytes: r.Total.Bytes,
		InuseObjects: r.Total.Objects,
		Sites:        len(r.Sites), FileBytes: e.Size, Labels: m.Labels,
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if !m.Recorded.IsZero() {
		out.Recorded = &m.Recorded
	}
	return out
}
