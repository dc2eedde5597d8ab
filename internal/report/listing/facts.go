package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// facts are the lines above the table.
func (i *Info) facts(p *text.Printer) {
	s := i.Series
	first := s.Heads[0]
	fact := func(name, format string, args ...any) { p.Linef("%-12s %s", name, fmt.Sprintf(format, args...)) }
	fact("process", "%s", text.Clean(s.Process.Title()))
	if s.Chosen != "" {
		fact("chosen", "of %d processes: %s; %s judges all", len(s.Others)+1, s.Chosen, option.GrowthCommand)
	}
	i.recorded(fact)
	fact("snapshots", "%d%s%s", len(s.Heads), i.span(), i.leftOutText())
	fact("format", "%s (%s)", first.Format, text.Clean(cmp.Or(first.Format.Allocator(), first.Producer)))
	fact("counts", "%s", countsText(first))
	fact("clock", "%s", clockText(s.Clock.Source))
	fact("trigger", "%s", triggerText(s.Triggers))
	fact("images", "%s, %s", units.Count(len(i.images()), "process image"),
		units.Count(len(s.Spaces), "set")+" of mappings")
	fact("stacks", "%d different in %s", s.Stacks.Len(), units.Count(i.rows(), "row"))
	fact("complete", "%s", i.completeText())
	if text := i.memoryText(); text != "" {
		fact("memory", "%s", text)
	}
	if text := i.endText(); text != "" {
		fact("end", "%s", text)
	}
}

// leftOutText is the number of snapshots that the recorder removed, and of those that repeat the
// one before.
func (i *Info) leftOutText() (line string) {
	if n := i.Series.Thinned(); n > 0 {
		line = fmt.Sprintf("; the recorder removed %d more (%s)", n, option.Keep)
	}
	if n := i.Series.Repeated(); n > 0 {
		line += fmt.Sprintf("; %d more repeat the one before", n)
	}
	return line
}

// recorded is what the manifest has about the processes.
func (i *Info) recorded(fact func(name, format string, args ...any)) {
	s := i.Series
	for k, other := range s.Others {
		name := ""
		if k == 0 {
			name = "others"
		}
		fact(name, "%s, %s: %s %s", text.Clean(other.Title()), units.Count(other.Files, "snapshot"),
			option.Process, text.Clean(other.String()))
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
	how := fmt.Sprintf("%s%s with %s", command.CommandLine(), where, strings.TrimSpace(r.Engine+" "+r.Version))
	if r.Method() == manifest.MethodAttach {
		how += ", by attach: without what was allocated before"
	}
	if len(r.URLs) > 0 {
		how = fmt.Sprintf("from %s%s", strings.Join(r.URLs, ", "), where)
	}
	if s.RecordingEnd() == nil {
		how += "; it still runs, or heaplapse was killed"
	}
	fact("recorded", "%s", text.Clean(how))
}

// memoryText compares the heap with the memory of the process at the last snapshot and at the peak;
// empty if the memory was not recorded.
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
	line := i.heapShare(last)
	rss, _ := i.Series.ResidentAt(last)
	if most, _ := i.Series.ResidentAt(peak); most-rss > rss/20 {
		line += fmt.Sprintf("; at the peak, snapshot %d, %s", peak+1, i.heapShare(peak))
	}
	return line
}

// running is the number of snapshots without one at the exit, when the program had freed its
// memory.
func (i *Info) running() int {
	heads := i.Series.Heads
	last := len(heads) - 1
	first := slices.IndexFunc(heads, func(h *series.Head) bool { return h.Image == heads[last].Image })
	if i.Series.AtExit(first, last) {
		return last
	}
	return last + 1
}

// heapShare is the share of the heap in the memory of the process at a snapshot, and what the rest
// may be.
func (i *Info) heapShare(k int) string {
	heap := i.Series.Heads[k].Heap().InuseBytes
	rss, _ := i.Series.ResidentAt(k)
	switch {
	case rss <= 0:
		return fmt.Sprintf("the heap has %s; nothing of the process is resident", units.Bytes(heap))
	case heap > rss:
		return fmt.Sprintf(
			"the heap has %s, of which at most %s are resident: the rest was never written, or is swapped out",
			units.Bytes(heap),
			units.Bytes(rss),
		)
	}
	line := fmt.Sprintf("the heap explains %s of %s RSS (%.0f %%)", units.Bytes(heap), units.Bytes(rss),
		100*float64(heap)/float64(rss))
	if pss, ok := i.Series.ProportionalAt(k); ok {
		line += fmt.Sprintf("; PSS is %s", units.Bytes(pss))
	}
	if rss-heap > max(heap/4, leastBeyond) {
		line += "; the rest is code, mmap, fragmentation, the allocator's and the profiler's own memory, stacks"
	}
	return line
}

// leastBeyond is the least memory outside the heap that is mentioned, in bytes.
const leastBeyond = 64 << 20

// endText is how the process ended; empty if that was not recorded.
func (i *Info) endText() string {
	s := i.Series
	end, of := s.Ended()
	if end == nil {
		return ""
	}
	at := end.Time.UTC().Format(time.RFC3339)
	if of != 0 && of != s.Process.PID {
		at += fmt.Sprintf(" (process %d, its parent)", of)
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

// images are the numbers of the process images.
func (i *Info) images() []int {
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
	switch {
	case h.Format == heapfile.FormatGoroutines:
		return "goroutines, with 2 KiB for each, the least stack; no cumulative counts"
	case h.IsEstimate():
		line = fmt.Sprintf("estimates from one sample per %s", units.Bytes(h.Period))
		if h.PeriodAssumed {
			line += " (assumed: the file does not say)"
		}
		if h.Format.Profile() {
			line += ", scaled by the writer"
		}
	case h.Format.Profile() && h.Period == 0:
		line = "the file does not say whether they are estimates"
	}
	if h.NoObjects {
		line += "; bytes without objects"
	}
	if h.HasAlloc {
		return line + "; in use and cumulative"
	}
	return line + "; in use only (no cumulative counts: higher load may look like a leak)"
}

func clockText(c series.ClockSource) string {
	switch c {
	case series.ClockManifest:
		return "times in the manifest"
	case series.ClockRecorded:
		return "times in the files"
	case series.ClockModified:
		return "modification times of the files"
	case series.ClockAllocated:
		return "bytes allocated (times are unknown)"
	}
	return "numbers of the snapshots (times are unknown)"
}

func triggerText(list []filename.Trigger) string {
	var names []string
	counts := map[filename.Trigger]int{}
	for _, t := range list {
		counts[t]++
	}
	texts := []string{"unknown", "bytes allocated", "record highs of the heap", "a timer", "calls or signals",
		"the end of the process", "a new program in the process"}
	for t, text := range texts {
		if n := counts[filename.Trigger(t)]; n > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", text, n))
		}
	}
	return strings.Join(names, ", ")
}

func (i *Info) completeText() string {
	truncated, unfinished := 0, 0
	var bound, deep, heap int64
	for _, h := range i.Series.Heads {
		c := h.Completeness
		if c.Unfinished {
			unfinished++
		} else if c.Truncated {
			truncated++
		}
		bound = max(bound, c.AbsentMax.InuseBytes)
		deep, heap = deep+c.AtDepthLimit, heap+c.Estimate.InuseBytes
	}
	parts := []string{"all snapshots are complete"}
	if truncated+unfinished > 0 {
		parts = []string{
			fmt.Sprintf("%d truncated, %d unfinished; a site that they do not list has at most %s in use", truncated,
				unfinished, units.Bytes(bound)),
		}
	}
	if heap > 0 && deep > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of the bytes are on stacks truncated at %d frames",
			100*float64(deep)/float64(heap), i.Series.Heads[0].DepthLimit))
	}
	return strings.Join(parts, "; ")
}
