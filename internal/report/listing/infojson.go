package listing

import (
	"io"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

type infoJSON struct {
	Schema    string                 `json:"schema"`
	Process   processJSON            `json:"process"`
	Others    []processJSON          `json:"others"`
	Recording *recordingJSON         `json:"recording,omitempty"`
	Clock     string                 `json:"clock"`
	Stacks    int                    `json:"stacks"`
	Images    int                    `json:"images"`
	Spaces    int                    `json:"spaces"`
	Snapshots []infoSnapshot         `json:"snapshots"`
	Thinned   int                    `json:"thinned,omitempty"`  // more snapshots that the recorder removed
	Repeated  int                    `json:"repeated,omitempty"` // more snapshots that repeat the one before
	Problems  []problemJSON          `json:"problems"`
	Warnings  []warningJSON          `json:"warnings"`
	Unnamed   []siteview.UnnamedJSON `json:"unnamed"`
}

type processJSON struct {
	PID     int      `json:"pid"`
	Prefix  string   `json:"prefix"`
	Files   int      `json:"files"`
	Command []string `json:"command,omitempty"`
	Exe     string   `json:"exe,omitempty"`
	End     *endJSON `json:"end,omitempty"`
}

// endJSON is how a process or the recording ended.
type endJSON struct {
	Time   time.Time `json:"time"`
	Status *int      `json:"status,omitempty"`
	Signal string    `json:"signal,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// recordingJSON is what a recorder noted of itself.
type recordingJSON struct {
	Started time.Time `json:"started"`
	Host    string    `json:"host,omitempty"`
	Command []string  `json:"command"`
	URLs    []string  `json:"urls,omitempty"`
	Engine  string    `json:"engine"`
	Version string    `json:"version,omitempty"`
	End     *endJSON  `json:"end,omitempty"`
}

type infoSnapshot struct {
	Path      string       `json:"path"`
	Seq       int          `json:"seq"`
	Time      *time.Time   `json:"time"`
	At        float64      `json:"at"`
	Epoch     int          `json:"epoch"`
	Trigger   string       `json:"trigger"`
	Format    string       `json:"format"`
	Period    int64        `json:"period"`
	HasAlloc  bool         `json:"has_alloc"`
	NoObjects bool         `json:"no_objects,omitempty"`
	Producer  string       `json:"producer,omitempty"` // of a pprof profile
	Assumed   bool         `json:"period_assumed,omitempty"`
	Size      int64        `json:"size"`
	Rows      int          `json:"rows"`
	Heap      text.Counts  `json:"heap"`
	RSSBytes  *int64       `json:"rss_bytes"`
	PSSBytes  *int64       `json:"pss_bytes"`
	CPU       *int64       `json:"cpu_ns"`
	Header    *text.Counts `json:"header"`
	RowSum    text.Counts  `json:"row_sum"`
	Truncated bool         `json:"truncated"`
	Partial   bool         `json:"partial"`
	AbsentMax text.Counts  `json:"absent_max"`
	Depth     int          `json:"depth_limit"`
	AtDepth   int64        `json:"at_depth_limit_bytes"`
	Threads   []threadJSON `json:"threads,omitempty"`
}

type threadJSON struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type problemJSON struct {
	Path  string `json:"path"`
	Error string `json:"error"`
	Named bool   `json:"named"`
}

type warningJSON struct {
	Kind    string `json:"kind"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Count   int    `json:"count"`
	Message string `json:"message"`
}

// JSON writes the findings as heaplapse.info/1.
func (i *Info) JSON(w io.Writer) error {
	s := i.Series
	out := infoJSON{
		Schema: "heaplapse.info/1", Process: processOf(s.Process), Others: []processJSON{}, Recording: recordingOf(s),
		Clock:  s.Clock.Source.String(),
		Stacks: s.Stacks.Len(), Images: len(i.images()), Spaces: len(s.Spaces),
		Snapshots: []infoSnapshot{}, Thinned: s.Thinned(), Repeated: s.Repeated(),
		Problems: []problemJSON{}, Warnings: []warningJSON{},
		Unnamed: siteview.Unnamed{Unnamed: i.Unnamed}.JSON(),
	}
	for _, o := range s.Others {
		out.Others = append(out.Others, processOf(o))
	}
	for k := range s.Heads {
		out.Snapshots = append(out.Snapshots, i.snapshot(k))
	}
	for _, b := range s.Problems {
		out.Problems = append(out.Problems, problemJSON{b.Path, b.Error(), b.Named})
	}
	for _, x := range text.Advise(pipeline.AllWarnings(s)) {
		out.Warnings = append(out.Warnings, warningJSON{x.Kind.String(), x.File, x.Line, x.Count, x.Msg})
	}
	return text.WriteJSON(w, out)
}

func processOf(p series.Process) processJSON {
	return processJSON{p.PID, p.Prefix, p.Files, p.Command, p.Exe, endOf(p.End)}
}

func endOf(e *manifest.End) *endJSON {
	if e == nil {
		return nil
	}
	return &endJSON{e.Time.UTC(), e.Status, e.Signal, e.Error}
}

func recordingOf(s *series.Series) *recordingJSON {
	if s.Manifest == nil || s.Manifest.Recording == nil {
		return nil
	}
	r := s.Manifest.Recording
	return &recordingJSON{r.Started.UTC(), r.Host, append([]string{}, r.Command...), r.URLs, r.Engine, r.Version,
		endOf(s.RecordingEnd())}
}

func (i *Info) snapshot(k int) infoSnapshot {
	s := i.Series
	h := s.Heads[k]
	c := h.Completeness
	out := infoSnapshot{
		Path: h.Path, Seq: h.File.Seq, At: s.Clock.At[k], Epoch: h.Image, Trigger: s.Triggers[k].String(),
		Format: h.Format.String(), Period: h.Period, HasAlloc: h.HasAlloc, Size: h.Size, Rows: h.Rows,
		NoObjects: h.NoObjects, Producer: h.Producer, Assumed: h.PeriodAssumed,
		Heap: text.Counts(h.Heap()), RowSum: text.Counts(c.Rows), Truncated: c.Truncated, Partial: c.Unfinished,
		AbsentMax: text.Counts(c.AbsentMax), Depth: h.DepthLimit, AtDepth: c.AtDepthLimit,
	}
	if s.Clock.Source.IsTime() {
		t := s.Clock.Times[k].UTC()
		out.Time = &t
	}
	if rss, ok := s.ResidentAt(k); ok {
		out.RSSBytes = &rss
	}
	if pss, ok := s.ProportionalAt(k); ok {
		out.PSSBytes = &pss
	}
	if cpu, ok := s.ProcessorTimeAt(k); ok {
		ns := cpu.Nanoseconds()
		out.CPU = &ns
	}
	if h.HasTotal {
		t := text.Counts(h.Total)
		out.Header = &t
	}
	for _, t := range h.Threads {
		out.Threads = append(out.Threads, threadJSON{t.ID, t.Name})
	}
	return out
}
