package listing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Info is what is in a series, what is missing and what is suspect.
type Info struct {
	Series *series.Series
	// All lists every snapshot in text, not only the first and last ones.
	All bool
	// Unnamed is what of the last snapshot has no name; nil if the series was not symbolized.
	Unnamed *siteview.Unnamed
}

// Text writes the findings for people.
func (i *Info) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	i.facts(p)
	p.Linef("")
	i.table(p)
	i.findings(p)
	i.Unnamed.Text(p)
	return p.Err
}

func (i *Info) facts(p *text.Printer) {
	s := i.Series
	first := s.Heads[0]
	fact := func(name, format string, args ...any) { p.Linef("%-12s %s", name, fmt.Sprintf(format, args...)) }
	fact("process", "%s", text.Clean(s.Process.Title()))
	i.recorded(fact)
	fact("snapshots", "%d%s%s", len(s.Heads), i.span(), thinnedText(s.Thinned()))
	fact("format", "%s (%s)", first.Format, first.Format.Allocator())
	fact("counts", "%s", countsText(first))
	fact("clock", "%s", clockText(s.Clock.Source))
	fact("trigger", "%s", triggerText(s.Triggers))
	fact("images", "%s, %s", units.Count(len(i.epochs()), "process image"), units.Count(len(s.Spaces), "set")+" of mappings")
	fact("stacks", "%d different ones in %s", s.Stacks.Len(), units.Count(i.rows(), "row"))
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
		fact(name, "%s, %s: --process %s", text.Clean(other.Title()), units.Count(other.Files, "snapshot"), text.Clean(other.String()))
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
	fact("recorded", "%s", text.Clean(fmt.Sprintf("%s%s with %s", command.CommandLine(), where, strings.TrimSpace(r.Engine+" "+r.Version))))
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
		return fmt.Sprintf("the heap has %s, the process nothing resident", units.Bytes(heap))
	}
	if heap > rss {
		return fmt.Sprintf("the heap has %s, of which %s at most are resident: the rest was never touched, or is swapped out", units.Bytes(heap), units.Bytes(rss))
	}
	text := fmt.Sprintf("the heap explains %s of %s RSS (%.0f %%)", units.Bytes(heap), units.Bytes(rss), 100*float64(heap)/float64(rss))
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
		return fmt.Sprintf("killed by %s at %s", text.Clean(end.Signal), at)
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
	return fmt.Sprintf(" over %s, from %s", units.Duration(s.Clock.Span()), s.Clock.Times[0].UTC().Format(time.RFC3339))
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
	line := "exact, every allocation recorded"
	if h.IsEstimate() {
		line = fmt.Sprintf("estimates from one sample per %s", units.Bytes(h.Period))
	}
	if h.HasAlloc {
		return line + "; in use and cumulative"
	}
	return line + "; in use only (no cumulative counts: load cannot be told from leaks)"
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
		parts = []string{fmt.Sprintf("%d cut by the allocator, %d without an end; a site that is absent there has at most %s in use", cut, partial, units.Bytes(bound))}
	}
	if heap > 0 && deep > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of the bytes on stacks cut at %d frames", 100*float64(deep)/float64(heap), i.Series.Heads[0].Format.DepthLimit()))
	}
	return strings.Join(parts, "; ")
}

// shownEnds is the number of snapshots listed at each end of a long series.
const shownEnds = 6

func (i *Info) table(p *text.Printer) {
	heads := i.Series.Heads
	p.Linef("%4s  %9s  %10s%s %10s %11s %8s  %-6s %s", "#", "AT", "IN USE", i.rss("RSS"), "OBJECTS", "ALLOCATED", "ROWS", "", "FILE")
	for k, h := range heads {
		if !i.All && len(heads) > 2*shownEnds+2 && k >= shownEnds && k < len(heads)-shownEnds {
			if k == shownEnds {
				p.Linef("   … %d more: -v lists them", len(heads)-2*shownEnds)
			}
			continue
		}
		p.Linef("%4d  %9s  %10s%s %10d %11s %8d  %-6s %s", k+1, i.at(k), units.Bytes(h.Heap().InuseBytes), i.rss(i.resident(k)), h.Heap().InuseObjects,
			allocated(h), h.Rows, flagsOf(h), text.Clean(h.Path))
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
	return units.Bytes(rss)
}

// at is the position of a snapshot on the clock.
func (i *Info) at(k int) string {
	c := i.Series.Clock
	switch {
	case c.Source.IsTime():
		return units.Duration(c.At[k])
	case c.Source == series.ClockAllocated:
		return units.Bytes(c.At[k])
	}
	return fmt.Sprintf("%.0f", c.At[k])
}

func allocated(h *series.Head) string {
	if !h.HasAlloc {
		return "-"
	}
	return units.Bytes(h.Heap().AllocBytes)
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
func (i *Info) findings(p *text.Printer) {
	warnings := text.AllWarnings(i.Series)
	if len(warnings) == 0 && len(i.Series.Problems) == 0 {
		p.Linef("")
		p.Linef("nothing suspect was found")
		return
	}
	p.Linef("")
	for _, b := range i.Series.Problems {
		p.Linef("unusable: %s", text.Clean(b.Error()))
	}
	for _, g := range text.GroupWarnings(warnings) {
		p.Linef("%s: %s", g.Kind, text.Clean(g.Text()))
	}
}
