package series

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// warn says what a reader should know before believing a comparison of the
// snapshots.
func (s *Series) warn() {
	s.warnOthers()
	s.warnImages()
	s.warnMissing()
	s.warnTrigger()
	s.warnMixed()
	s.warnClock()
	s.warnEnd()
}

func (s *Series) warnf(kind heapfile.WarningKind, format string, args ...any) {
	s.Warnings = append(s.Warnings, heapfile.Warning{Kind: kind, Count: 1, Msg: fmt.Sprintf(format, args...)})
}

func (s *Series) warnOthers() {
	if len(s.Others) == 0 {
		return
	}
	why := ""
	if s.chosenFor != "" {
		why = ", " + s.chosenFor
	}
	s.warnf(heapfile.WarnManyProcesses, "several processes wrote here; taking %s with %d snapshots%s; left out: %s",
		s.Process.Title(), s.Process.Files, why, joinProcesses(s.Others))
}

// warnImages reports restarts and forks.
func (s *Series) warnImages() {
	images := imagesOf(s.Heads)
	if images < 2 {
		return
	}
	if forked(s.Heads, s.Spaces) {
		s.warnf(heapfile.WarnFork, "cumulative counts fall although the mappings stay: forked processes overwrote one another's files, "+
			"or the process restarted without address randomisation; record again with HEAPPROFILE_USE_PID=1 (gperftools 2.11 or later)")
		return
	}
	s.warnf(heapfile.WarnRestart, "the process restarted: %d process images in this series, their counts start anew", images)
	s.warnLeftovers()
}

// warnLeftovers tells files of an earlier run from those of a later one that took the same first numbers.
func (s *Series) warnLeftovers() {
	if !s.Clock.Source.IsTime() {
		return
	}
	for i := 1; i < len(s.Heads); i++ {
		if s.Clock.At[i] < s.Clock.At[i-1] {
			s.warnf(heapfile.WarnLeftover, "%s and what follows is older than what precedes it: an earlier run's files, of which a later run overwrote the first", s.Heads[i].Path)
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

// forked says whether two images that follow one another are mapped alike.
func forked(heads []*Head, list []AddressSpace) bool {
	first := map[int][]heapfile.Mapping{} // by epoch
	for _, sp := range list {
		if _, ok := first[sp.Image]; !ok {
			first[sp.Image] = sp.Mappings
		}
	}
	for i := 1; i < len(heads); i++ {
		a, b := heads[i-1].Image, heads[i].Image
		if a != b && len(first[a]) > 0 && len(first[b]) > 0 && !anchorsMoved(first[a], first[b]) {
			return true
		}
	}
	return false
}

// warnMissing reports gaps in the numbers, but for those of snapshots that the recorder removed.
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
		s.warnf(heapfile.WarnMissing, "%d numbers are missing from the series: %s", missing, strings.Join(gaps, ", "))
	}
}

// droppedNumbers are those of dropped, sorted.
func (s *Series) droppedNumbers() (numbers []int) {
	for _, d := range s.dropped() {
		numbers = append(numbers, ParseFileName(d.File).Seq)
	}
	slices.Sort(numbers)
	return numbers
}

type numbers struct{ from, to int }

// gapsBetween are the numbers between two, without known ones, which are sorted.
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
		if t == TriggerHighWater {
			high++
		}
	}
	if 2*high > len(s.Heads) {
		s.warnf(heapfile.WarnHighWater, "snapshots were taken at record highs of the heap, so its total rises by construction; "+
			"record with HEAP_PROFILE_TIME_INTERVAL=30 HEAP_PROFILE_INUSE_INTERVAL=0 to compare fairly")
	}
}

// warnMixed reports snapshots that cannot be compared number by number.
func (s *Series) warnMixed() {
	first := s.Heads[0]
	for _, h := range s.Heads[1:] {
		switch {
		case h.Format != first.Format:
			s.warnf(heapfile.WarnMixed, "formats differ: %s is %s, %s is %s", first.Path, first.Format, h.Path, h.Format)
			return
		case h.Period != first.Period:
			s.warnf(heapfile.WarnMixed, "sampling periods differ: %s has %d, %s has %d", first.Path, first.Period, h.Path, h.Period)
			return
		case h.HasAlloc != first.HasAlloc:
			s.warnf(heapfile.WarnMixed, "only some of the snapshots have cumulative counts: compare %s with %s", first.Path, h.Path)
			return
		}
	}
	s.warnVersions()
}

// warnVersions tells gperftools ≤2.15, which sorts rows, from later ones, which
// do not and keep allocator frames: stacks of one do not match those of the other.
func (s *Series) warnVersions() {
	const enough = 50 // rows that are in order by chance are few
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
		s.warnf(heapfile.WarnMixed, "written by different versions of gperftools: %s has sorted rows (2.15 or older), %s has not",
			sorted.Path, unsorted.Path)
	}
}

func (s *Series) warnClock() {
	if len(s.Heads) < 2 {
		return
	}
	switch s.Clock.Source {
	case ClockAllocated:
		s.warnf(heapfile.WarnClock, "times are not known (those of the files are a copy's, equal or out of order); growth is measured per byte allocated")
	case ClockIndex:
		s.warnf(heapfile.WarnClock, "times are not known; growth is measured per snapshot")
	}
}

// warnEnd says that the series ends because something went wrong.
func (s *Series) warnEnd() {
	if end, _ := s.Ended(); end != nil && end.Signal != "" {
		hint := ""
		if end.Signal == "SIGKILL" {
			hint = "; if nobody did that, the kernel did for want of memory (dmesg tells)"
		}
		s.warnf(heapfile.WarnKilled, "the process was killed by %s at %s%s", end.Signal, end.Time.UTC().Format(time.RFC3339), hint)
	}
	for _, end := range []*manifest.End{s.Process.End, s.RecordingEnd()} {
		if end != nil && end.Error != "" {
			s.warnf(heapfile.WarnRecording, "the recorder reports: %s", end.Error)
			return
		}
	}
}
