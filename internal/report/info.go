package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Info is what is in a series, what is missing and what is suspect.
type Info struct {
	Series *series.Series
	// All lists every snapshot in text, not only the first and last ones.
	All bool
	// Unnamed is what of the last snapshot has no name; nil if the series was not symbolized.
	Unnamed *Unnamed
}

// Text writes the findings for people.
func (i *Info) Text(w io.Writer) error {
	p := &printer{w: w}
	i.facts(p)
	p.linef("")
	i.table(p)
	i.findings(p)
	i.Unnamed.text(p)
	return p.err
}

func (i *Info) facts(p *printer) {
	s := i.Series
	first := s.Heads[0]
	fact := func(name, format string, args ...any) { p.linef("%-12s %s", name, fmt.Sprintf(format, args...)) }
	fact("process", "%s", clean(s.Process.Title()))
	i.recorded(fact)
	fact("snapshots", "%d%s%s", len(s.Heads), i.span(), thinnedText(s.Thinned()))
	fact("format", "%s (%s)", first.Format, first.Format.Allocator())
	fact("counts", "%s", countsText(first))
	fact("clock", "%s", clockText(s.Clock.Source))
	fact("trigger", "%s", triggerText(s.Triggers))
	fact("images", "%s, %s", plural(len(i.epochs()), "process image"), plural(len(s.Spaces), "set")+" of mappings")
	fact("stacks", "%d different ones in %s", s.Stacks.Len(), plural(i.rows(), "row"))
	fact("complete", "%s", i.completeText())
	if text := i.memoryText(); text != "" {
		fact("memory", "%s", text)
	}
	if text := i.endText(); text != "" {
		fact("end", "%s", text)
	}
}

// thinnedText says that there were more snapshots.
func thinnedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; the recorder thinned out %d more (--keep)", n)
}

// recorded is what a recorder noted about the processes.
func (i *Info) recorded(fact func(name, format string, args ...any)) {
	s := i.Series
	for k, other := range s.Others {
		name := ""
		if k == 0 {
			name = "others"
		}
		fact(name, "%s, %s: --process %s", clean(other.Title()), plural(other.Files, "snapshot"), clean(other.String()))
	}
	if s.Manifest == nil || s.Manifest.Recording == nil {
		return
	}
	r := s.Manifest.Recording
	where := ""
	if r.Host != "" {
		where = " on " + r.Host
	}
	command := series.Process{Command: r.Command}
	fact("recorded", "%s", clean(fmt.Sprintf("%s%s with %s", command.CommandLine(), where, strings.TrimSpace(r.Engine+" "+r.Version))))
}

// memoryText compares the heap with the resident set, where that was recorded: at its last moment, and at its peak.
func (i *Info) memoryText() string {
	last, peak := -1, -1
	for k := range i.running() {
		rss, ok := i.Series.ResidentAt(k)
		if !ok {
			continue
		}
		last = k
		if most, _ := i.Series.ResidentAt(peak); rss > most {
			peak = k
		}
	}
	if last < 0 {
		return ""
	}
	rss, _ := i.Series.ResidentAt(last)
	text := heapOfRSS(i.Series.Heads[last].Heap().InuseBytes, rss)
	if most, _ := i.Series.ResidentAt(peak); most-rss > rss/20 {
		text += fmt.Sprintf("; at its peak, in snapshot %d, %s", peak+1, heapOfRSS(i.Series.Heads[peak].Heap().InuseBytes, most))
	}
	return text
}

// running is the number of snapshots but for the one that was taken when the program had freed its memory to exit.
func (i *Info) running() int {
	heads := i.Series.Heads
	last := len(heads) - 1
	first := slices.IndexFunc(heads, func(h *series.Head) bool { return h.Image == heads[last].Image })
	if i.Series.AtExit(first, last) {
		return last
	}
	return last + 1
}

// heapOfRSS says how much of the resident set the heap explains, and what the rest may be.
func heapOfRSS(heap, rss int64) string {
	if rss <= 0 {
		return fmt.Sprintf("the heap has %s, the process nothing resident", Bytes(heap))
	}
	if heap > rss {
		return fmt.Sprintf("the heap has %s, of which %s at most are resident: the rest was never touched, or is swapped out", Bytes(heap), Bytes(rss))
	}
	text := fmt.Sprintf("the heap explains %s of %s RSS (%.0f %%)", Bytes(heap), Bytes(rss), 100*float64(heap)/float64(rss))
	if rss-heap > max(heap/4, leastBeyond) {
		text += "; the rest is code, mmap, fragmentation, the allocator's and the profiler's own memory, stacks"
	}
	return text
}

// leastBeyond is the least memory beside the heap that is worth a word, in bytes.
const leastBeyond = 64 << 20

// endText is how the process ended, "" where that was not recorded.
func (i *Info) endText() string {
	s := i.Series
	end, of := s.Ended()
	if end == nil {
		return ""
	}
	at := end.Time.UTC().Format(time.RFC3339)
	if of != 0 && of != s.Process.PID {
		at += fmt.Sprintf(" (process %d, which started it)", of)
	}
	switch {
	case end.Signal != "":
		return fmt.Sprintf("killed by %s at %s", clean(end.Signal), at)
	case end.Status != nil:
		return fmt.Sprintf("exit status %d at %s", *end.Status, at)
	}
	return "at " + at
}

func (i *Info) span() string {
	s := i.Series
	if !s.Clock.Source.IsTime() || len(s.Heads) < 2 {
		return ""
	}
	return fmt.Sprintf(" over %s, from %s", duration(s.Clock.Span()), s.Clock.Times[0].UTC().Format(time.RFC3339))
}

func (i *Info) epochs() []int {
	var out []int
	for _, h := range i.Series.Heads {
		if !slices.Contains(out, h.Image) {
			out = append(out, h.Image)
		}
	}
	return out
}

func (i *Info) rows() (n int) {
	for _, h := range i.Series.Heads {
		n += h.Rows
	}
	return n
}

func countsText(h *series.Head) string {
	text := "exact, every allocation recorded"
	if h.IsEstimate() {
		text = fmt.Sprintf("estimates from one sample per %s", Bytes(h.Period))
	}
	if h.HasAlloc {
		return text + "; in use and cumulative"
	}
	return text + "; in use only (no cumulative counts: load cannot be told from leaks)"
}

func clockText(c series.ClockSource) string {
	switch c {
	case series.ClockManifest:
		return "times recorded beside the snapshots"
	case series.ClockRecorded:
		return "times within the compressed files"
	case series.ClockModified:
		return "modification times of the files"
	case series.ClockAllocated:
		return "bytes allocated (times are not known)"
	}
	return "the snapshots' numbers (times are not known)"
}

func triggerText(list []series.Trigger) string {
	var names []string
	counts := map[series.Trigger]int{}
	for _, t := range list {
		counts[t]++
	}
	texts := []string{"not known", "bytes allocated", "record highs of the heap", "a timer", "calls or signals", "the end of the process"}
	for t, text := range texts {
		if n := counts[series.Trigger(t)]; n > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", text, n))
		}
	}
	return strings.Join(names, ", ")
}

func (i *Info) completeText() string {
	cut, partial := 0, 0
	var bound, deep, heap int64
	for _, h := range i.Series.Heads {
		c := h.Completeness
		if c.Unfinished {
			partial++
		} else if c.Truncated {
			cut++
		}
		bound = max(bound, c.AbsentMax.InuseBytes)
		deep, heap = deep+c.AtDepthLimit, heap+c.Estimate.InuseBytes
	}
	parts := []string{"all snapshots are whole"}
	if cut+partial > 0 {
		parts = []string{fmt.Sprintf("%d cut by the allocator, %d without an end; a site that is absent there has at most %s in use", cut, partial, Bytes(bound))}
	}
	if heap > 0 && deep > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of the bytes on stacks cut at %d frames", 100*float64(deep)/float64(heap), i.Series.Heads[0].Format.DepthLimit()))
	}
	return strings.Join(parts, "; ")
}

// shownEnds is the number of snapshots listed at each end of a long series.
const shownEnds = 6

func (i *Info) table(p *printer) {
	heads := i.Series.Heads
	p.linef("%4s  %9s  %10s%s %10s %11s %8s  %-6s %s", "#", "AT", "IN USE", i.rss("RSS"), "OBJECTS", "ALLOCATED", "ROWS", "", "FILE")
	for k, h := range heads {
		if !i.All && len(heads) > 2*shownEnds+2 && k >= shownEnds && k < len(heads)-shownEnds {
			if k == shownEnds {
				p.linef("   … %d more: -v lists them", len(heads)-2*shownEnds)
			}
			continue
		}
		p.linef("%4d  %9s  %10s%s %10d %11s %8d  %-6s %s", k+1, i.at(k), Bytes(h.Heap().InuseBytes), i.rss(i.resident(k)), h.Heap().InuseObjects,
			allocated(h), h.Rows, flagsOf(h), clean(h.Path))
	}
}

// rss is a cell of the column that is there only where the resident set was recorded.
func (i *Info) rss(text string) string {
	if i.Series.RSS == nil {
		return ""
	}
	return fmt.Sprintf(" %10s", text)
}

func (i *Info) resident(k int) string {
	rss, ok := i.Series.ResidentAt(k)
	if !ok {
		return "-"
	}
	return Bytes(rss)
}

// at is the position of a snapshot on the clock.
func (i *Info) at(k int) string {
	c := i.Series.Clock
	switch {
	case c.Source.IsTime():
		return duration(c.At[k])
	case c.Source == series.ClockAllocated:
		return bytesOf(c.At[k])
	}
	return fmt.Sprintf("%.0f", c.At[k])
}

func allocated(h *series.Head) string {
	if !h.HasAlloc {
		return "-"
	}
	return Bytes(h.Heap().AllocBytes)
}

func flagsOf(h *series.Head) string {
	switch {
	case h.Completeness.Unfinished:
		return "no end"
	case h.Completeness.Truncated:
		return "cut"
	}
	return ""
}

// findings lists warnings by kind: one line where many snapshots share one.
func (i *Info) findings(p *printer) {
	warnings := AllWarnings(i.Series)
	if len(warnings) == 0 && len(i.Series.Problems) == 0 {
		p.linef("")
		p.linef("nothing suspect was found")
		return
	}
	p.linef("")
	for _, b := range i.Series.Problems {
		p.linef("unusable: %s", clean(b.Error()))
	}
	for _, g := range GroupWarnings(warnings) {
		p.linef("%s: %s", g.Kind, clean(g.Text()))
	}
}

// WarningGroup is the warnings of one kind.
type WarningGroup struct {
	Kind  heapfile.WarningKind
	First heapfile.Warning
	Files int
}

// Text is the first warning, and how many more files have one of its kind.
func (g WarningGroup) Text() string {
	if g.Files > 1 {
		return fmt.Sprintf("%s; and %s", g.First.Error(), plural(g.Files-1, "more file"))
	}
	return g.First.Error()
}

// GroupWarnings puts warnings of one kind together, in order of first appearance.
func GroupWarnings(list []heapfile.Warning) []WarningGroup {
	var out []WarningGroup
	for _, w := range list {
		i := slices.IndexFunc(out, func(g WarningGroup) bool { return g.Kind == w.Kind })
		if i < 0 {
			out = append(out, WarningGroup{Kind: w.Kind, First: w})
			i = len(out) - 1
		}
		out[i].Files++
	}
	return out
}

type infoJSON struct {
	Schema    string         `json:"schema"`
	Process   processJSON    `json:"process"`
	Others    []processJSON  `json:"others"`
	Recording *recordingJSON `json:"recording,omitempty"`
	Clock     string         `json:"clock"`
	Stacks    int            `json:"stacks"`
	Images    int            `json:"images"`
	Spaces    int            `json:"spaces"`
	Snapshots []infoSnapshot `json:"snapshots"`
	Thinned   int            `json:"thinned,omitempty"` // more snapshots that the recorder removed
	Problems  []problemJSON  `json:"problems"`
	Warnings  []warningJSON  `json:"warnings"`
	Unnamed   []unnamedJSON  `json:"unnamed"`
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
	Size      int64        `json:"size"`
	Rows      int          `json:"rows"`
	Heap      countsJSON   `json:"heap"`
	RSSBytes  *int64       `json:"rss_bytes"`
	Header    *countsJSON  `json:"header"`
	RowSum    countsJSON   `json:"row_sum"`
	Truncated bool         `json:"truncated"`
	Partial   bool         `json:"partial"`
	AbsentMax countsJSON   `json:"absent_max"`
	AtDepth   int64        `json:"at_depth_limit_bytes"`
	Threads   []threadJSON `json:"threads,omitempty"`
}

type countsJSON struct {
	InuseObjects int64 `json:"inuse_objects"`
	InuseBytes   int64 `json:"inuse_bytes"`
	AllocObjects int64 `json:"alloc_objects"`
	AllocBytes   int64 `json:"alloc_bytes"`
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
		Schema: "heaplapse.info/1", Process: processOf(s.Process), Others: []processJSON{}, Recording: recordingOf(s), Clock: s.Clock.Source.String(),
		Stacks: s.Stacks.Len(), Images: len(i.epochs()), Spaces: len(s.Spaces),
		Snapshots: []infoSnapshot{}, Thinned: s.Thinned(), Problems: []problemJSON{}, Warnings: []warningJSON{}, Unnamed: i.Unnamed.json(),
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
	for _, x := range AllWarnings(s) {
		out.Warnings = append(out.Warnings, warningJSON{x.Kind.String(), x.File, x.Line, x.Count, x.Msg})
	}
	return writeJSON(w, out)
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
	return &recordingJSON{r.Started.UTC(), r.Host, append([]string{}, r.Command...), r.Engine, r.Version, endOf(s.RecordingEnd())}
}

func (i *Info) snapshot(k int) infoSnapshot {
	s := i.Series
	h := s.Heads[k]
	c := h.Completeness
	out := infoSnapshot{
		Path: h.Path, Seq: h.File.Seq, At: s.Clock.At[k], Epoch: h.Image, Trigger: s.Triggers[k].String(),
		Format: h.Format.String(), Period: h.Period, HasAlloc: h.HasAlloc, Size: h.Size, Rows: h.Rows,
		Heap: countsOf(h.Heap()), RowSum: countsOf(c.Rows), Truncated: c.Truncated, Partial: c.Unfinished,
		AbsentMax: countsOf(c.AbsentMax), AtDepth: c.AtDepthLimit,
	}
	if s.Clock.Source.IsTime() {
		t := s.Clock.Times[k].UTC()
		out.Time = &t
	}
	if rss, ok := s.ResidentAt(k); ok {
		out.RSSBytes = &rss
	}
	if h.HasTotal {
		t := countsOf(h.Total)
		out.Header = &t
	}
	for _, t := range h.Threads {
		out.Threads = append(out.Threads, threadJSON{t.ID, t.Name})
	}
	return out
}

func countsOf(c heapfile.Counts) countsJSON {
	return countsJSON{c.InuseObjects, c.InuseBytes, c.AllocObjects, c.AllocBytes}
}
