package series

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/mappings"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// warn adds the warnings about the series as a whole.
func (s *Series) warn() {
	s.warnImages()
	s.warnRepeated()
	s.warnMissing()
	s.warnTrigger()
	s.warnMixed()
	s.warnClock()
	s.warnEngine()
	s.warnGaps()
	s.warnEnd()
}

func (s *Series) warnf(kind heapfile.WarningKind, format string, args ...any) {
	s.Warnings = append(s.Warnings, heapfile.Warning{Kind: kind, Count: 1, Msg: fmt.Sprintf(format, args...)})
}

// warnOthers warns of processes that are not read.
func (s *Series) warnOthers() {
	const listed = 3
	others := joinProcesses(s.Others[:min(len(s.Others), listed)])
	if more := len(s.Others) - listed; more > 0 {
		others += fmt.Sprintf(" and %d more", more)
	}
	s.warnf(heapfile.WarnManyProcesses, "several processes wrote snapshots; reading %s with %d snapshots, because %s; ignored: %s",
		s.Process.Title(), s.Process.Files, s.Chosen, others)
}

// warnImages warns of restarts and forks.
func (s *Series) warnImages() {
	images := imagesOf(s.Heads)
	if images < 2 {
		return
	}
	if forked(s.Heads, s.Spaces) {
		s.warnf(
			heapfile.WarnFork,
			"cumulative counts fall although the mappings stay: forked processes overwrote one another's files, "+
				"or the process restarted without address randomisation; record again with HEAPPROFILE_USE_PID=1 (gperftools 2.11 or later)",
		)
		return
	}
	s.warnf(heapfile.WarnRestart, "the process restarted: %d process images in this series, counts restart with each",
		images)
	s.warnLeftovers()
}

// warnLeftovers warns of files of an earlier run whose first numbers a later run has overwritten.
func (s *Series) warnLeftovers() {
	if !s.Clock.Source.IsTime() {
		return
	}
	for i := 1; i < len(s.Heads); i++ {
		if s.Clock.At[i] < s.Clock.At[i-1] {
			s.warnf(
				heapfile.WarnLeftover,
				"%s and the snapshots after it are older than those before it: they are files of an earlier run, which a later run partly overwrote",
				s.Heads[i].Path,
			)
			return
		}
	}
}

func imagesOf(heads []*Head) int {
	if len(heads) == 0 {
		return 0
	}
	return heads[len(heads)-1].Image - heads[0].Image + 1
}

// forked reports whether two consecutive images have the same mappings.
func forked(heads []*Head, list []AddressSpace) bool {
	first := map[int][]heapfile.Mapping{} // by image
	for _, sp := range list {
		if _, ok := first[sp.Image]; !ok {
			first[sp.Image] = sp.Mappings
		}
	}
	for i := 1; i < len(heads); i++ {
		a, b := heads[i-1].Image, heads[i].Image
		if a != b && len(first[a]) > 0 && len(first[b]) > 0 && !mappings.Moved(first[a], first[b]) {
			return true
		}
	}
	return false
}

// warnMissing warns of gaps in the numbers, except those of snapshots that the recorder removed.
func (s *Series) warnMissing() {
	var gaps []string
	missing, dropped := 0, s.droppedNumbers()
	for i := 1; i < len(s.Heads); i++ {
		a, b := s.Heads[i-1].File, s.Heads[i].File
		if a.Seq < 0 {
			continue
		}
		for _, g := range gapsBetween(a.Seq, b.Seq, dropped) {
			missing += g.to - g.from + 1
			if len(gaps) < 5 {
				gaps = append(gaps, gap(g.from, g.to))
			}
		}
	}
	if missing > 0 {
		are := "numbers are"
		if missing == 1 {
			are = "number is"
		}
		s.warnf(heapfile.WarnMissing, "%d %s missing from the series: %s", missing, are, strings.Join(gaps, ", "))
	}
}

// warnRepeated warns of snapshots that repeat the one before.
func (s *Series) warnRepeated() {
	if n := s.Repeated(); n > 0 {
		s.warnf(
			heapfile.WarnRepeated,
			"%d of %d profiles repeat the one before and are left out: Go updates them when it has collected garbage, "+
				"here some %d times; request them with ?gc=1",
			n, n+len(s.Heads), len(s.Heads),
		)
	}
}

// droppedNumbers returns the numbers of the dropped snapshots, sorted.
func (s *Series) droppedNumbers() []int {
	numbers := slices.Clone(s.repeated)
	for _, d := range s.dropped() {
		numbers = append(numbers, filename.Parse(d.File).Seq)
	}
	slices.Sort(numbers)
	return numbers
}

type numbers struct{ from, to int }

// gapsBetween returns the numbers between a and b, without the known ones, which are sorted.
func gapsBetween(a, b int, known []int) (gaps []numbers) {
	i, _ := slices.BinarySearch(known, a+1)
	for from := a + 1; from < b; i++ {
		to := b
		if i < len(known) {
			to = min(b, known[i])
		}
		if from < to {
			gaps = append(gaps, numbers{from, to - 1})
		}
		from = max(from, to+1)
	}
	return gaps
}

func gap(from, to int) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d–%d", from, to)
}

func (s *Series) warnTrigger() {
	high := 0
	for _, t := range s.Triggers {
		if t == filename.TriggerHighWater {
			high++
		}
	}
	if 2*high <= len(s.Heads) {
		return
	}
	remedy := "record with HEAP_PROFILE_TIME_INTERVAL=30 HEAP_PROFILE_INUSE_INTERVAL=0"
	if !s.Heads[0].File.Time.IsZero() {
		remedy = "take them at regular intervals"
	}
	s.warnf(
		heapfile.WarnHighWater,
		"snapshots were taken at record highs of the heap, so its total rises by construction; %s to compare fairly",
		remedy,
	)
}

// warnMixed warns of snapshots whose numbers are not comparable.
func (s *Series) warnMixed() {
	first := s.Heads[0]
	for _, h := range s.Heads[1:] {
		switch {
		case h.Format != first.Format:
			s.warnf(heapfile.WarnMixed, "formats differ: %s is %s, %s is %s", first.Path, first.Format, h.Path, h.Format)
			return
		case h.Period != first.Period:
			s.warnf(heapfile.WarnMixed, "sampling periods differ: %s has %d, %s has %d", first.Path, first.Period,
				h.Path, h.Period)
			return
		case h.HasAlloc != first.HasAlloc:
			s.warnf(heapfile.WarnMixed, "only some of the snapshots have cumulative counts: compare %s with %s",
				first.Path, h.Path)
			return
		}
	}
	s.warnVersions()
}

// warnVersions warns of snapshots of different versions of gperftools, whose stacks differ: 2.15
// and older sorts rows, later ones do not and keep the frames of the allocator.
func (s *Series) warnVersions() {
	const enough = 50 // fewer rows may be in order by chance
	var sorted, unsorted *Head
	for _, h := range s.Heads {
		switch {
		case h.Completeness.Sorted:
			sorted = h
		case h.Format == heapfile.FormatHeapProfile && h.Rows >= enough:
			unsorted = h
		}
	}
	if sorted != nil && unsorted != nil {
		s.warnf(
			heapfile.WarnMixed,
			"written by different versions of gperftools: %s has sorted rows (2.15 or older), %s does not",
			sorted.Path,
			unsorted.Path,
		)
	}
}

func (s *Series) warnClock() {
	if len(s.Heads) < 2 {
		return
	}
	switch s.Clock.Source {
	case ClockAllocated:
		s.warnf(
			heapfile.WarnClock,
			"times are unknown (the files' times are equal, out of order or those of a copy); growth is measured per byte allocated",
		)
	case ClockIndex:
		s.warnf(heapfile.WarnClock, "times are unknown; growth is measured per snapshot")
	}
}

// warnEngine warns of what was not recorded of the process.
func (s *Series) warnEngine() {
	if s.Manifest == nil {
		return
	}
	for _, p := range s.Manifest.Problems {
		switch {
		case p.PID != s.PID():
		case p.Kind == manifest.ProblemWorkers, p.Kind == manifest.ProblemPrograms, p.Kind == manifest.ProblemHeap:
			s.warnf(heapfile.WarnRecording, "%s", p.Text())
		case p.Kind == manifest.ProblemRemoved:
			s.warnf(heapfile.WarnRemoved, "%s", p.Text())
		default:
			s.warnf(heapfile.WarnRecording, "the built-in engine reports: %s", p.Text())
		}
	}
}

// warnGaps warns of times at which the service that snapshots are taken from did not answer: of the
// first few.
func (s *Series) warnGaps() {
	const shown = 3
	if s.Manifest == nil {
		return
	}
	n := 0
	for _, g := range s.Manifest.Gaps {
		if g.Prefix != filepath.Base(s.Process.Prefix) {
			continue
		}
		if n++; n > shown {
			continue
		}
		from, lasts := g.From.UTC().Format(time.RFC3339), "to the end"
		if !g.To.IsZero() {
			lasts = fmt.Sprintf("for %s", g.To.Sub(g.From).Round(time.Second/10))
		}
		s.warnf(heapfile.WarnRecording, "no snapshots from %s %s: %s", from, lasts, g.Reason)
	}
	if n > shown {
		s.warnf(heapfile.WarnRecording, "further times without snapshots: %d", n-shown)
	}
}

// warnEnd warns of a process that was killed and of a recording that failed.
func (s *Series) warnEnd() {
	if end, _ := s.Ended(); end != nil && end.Signal != "" && !end.Requested {
		hint := ""
		if end.Signal == "SIGKILL" {
			hint = "; the kernel kills processes when memory runs out (see dmesg)"
		}
		s.warnf(heapfile.WarnKilled, "the process was killed by %s at %s%s", end.Signal,
			end.Time.UTC().Format(time.RFC3339), hint)
	}
	for _, end := range []*manifest.End{s.Process.End, s.RecordingEnd()} {
		if end != nil && end.Error != "" {
			s.warnf(heapfile.WarnRecording, "the recorder reports: %s", end.Error)
			return
		}
	}
}
