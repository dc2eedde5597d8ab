package growth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// silentProgram is a program that works for 10 s of each minute, and leaks 1 MiB, until its last
// snapshot. It then runs for an hour without a snapshot.
type silentProgram struct {
	engine, trigger string
	minute          func(i int) int // when it takes snapshot i of 12
	minutes         int             // of the silence
	work            int             // processor time of the silence in seconds; -1 if unknown
	resident        int             // growth of the resident set in the silence in MiB; -1 if unknown
	pid             int             // of the end
	lines           string          // more lines of the manifest
}

func aSilentProgram() silentProgram {
	return silentProgram{"tcmalloc", "time", func(i int) int { return i }, 60, 600, 0, 1, ""}
}

const silentSnapshots = 12

func clock(minutes int) string {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
}

func snapshotLine(number, minutes, pid int, trigger string) string {
	return fmt.Sprintf(`{"snapshot":{"file":"p.%04d.heap","time":%q,"pid":%d,"trigger":%q}}`+"\n", number, clock(minutes), pid, trigger)
}

// manifest returns the lines of the manifest.
func (p silentProgram) manifest() string {
	var out strings.Builder
	fmt.Fprintf(&out, "{\"schema\":%q}\n", manifest.Schema)
	if p.engine != "" {
		fmt.Fprintf(&out, `{"recording":{"engine":%q}}`+"\n", p.engine)
	}
	for i := range silentSnapshots {
		at := p.minute(i)
		fmt.Fprintf(&out, `{"snapshot":{"file":"p.%04d.heap","time":%q,"pid":1,"trigger":%q,"cpu_ns":%d,"rss_bytes":%d}}`+"\n",
			i+1, clock(at), p.trigger, 10*at*int(time.Second), (30+i)<<20)
	}
	last := p.minute(silentSnapshots - 1)
	end := fmt.Sprintf(`{"end":{"pid":%d,"time":%q`, p.pid, clock(last+p.minutes))
	if p.work >= 0 {
		end += fmt.Sprintf(`,"cpu_ns":%d`, (10*last+p.work)*int(time.Second))
	}
	if p.resident >= 0 {
		end += fmt.Sprintf(`,"rss_bytes":%d`, (30+silentSnapshots-1+p.resident)<<20)
	}
	return out.String() + p.lines + end + "}}\n"
}

// judged writes the program's snapshots, those of the sites that are given or of one that leaks,
// and judges them.
func (p silentProgram) judged(t *testing.T, o growth.Options, of ...site) judged {
	t.Helper()
	n := silentSnapshots
	if of == nil {
		of = []site{{0x400100, func(i int) int { return i << 20 }}}
	}
	if strings.Contains(p.lines, "p.0013.heap") && strings.Contains(p.lines, `"exit"`) {
		n++ // the snapshot of the exit
	}
	dir := madeUp(t, n, of...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(p.manifest()), 0o600))
	return judge(t, dir, "/nonexistent", o)
}

// silence returns the note of a silence, if there is one.
func silence(notes []growth.Note) (note growth.Note, ok bool) {
	i := slices.IndexFunc(notes, func(n growth.Note) bool { return n.Kind == growth.NoteSilentEnd })
	if i < 0 {
		return note, false
	}
	return notes[i], true
}

// TestASilentEnd: allocators take no snapshots of a program that does not call malloc. It is noted
// if the program ran on for long. If a timer was due, the program worked, and it did not grow, no
// site is called a leak.
func TestASilentEnd(t *testing.T) {
	const (
		none = iota
		noted
		judged
	)
	last := silentSnapshots - 1
	for name, c := range map[string]struct {
		change func(p *silentProgram)
		want   int
	}{
		"the timer of tcmalloc":    {func(*silentProgram) {}, judged},
		"the timer of jemalloc":    {func(p *silentProgram) { p.engine = "jemalloc" }, judged},
		"half of its work":         {func(p *silentProgram) { p.work = 310 }, judged},
		"less work":                {func(p *silentProgram) { p.work = 290 }, noted},
		"work is not known":        {func(p *silentProgram) { p.work = -1 }, noted},
		"it grows a little":        {func(p *silentProgram) { p.resident = 14 }, judged},
		"it grows on":              {func(p *silentProgram) { p.resident = 16 }, noted},
		"growth is not known":      {func(p *silentProgram) { p.resident = -1 }, noted},
		"a short time":             {func(p *silentProgram) { p.minutes, p.work = 5, 50 }, none},
		"half of its time":         {func(p *silentProgram) { p.minutes, p.work = 6, 60 }, judged},
		"allocation":               {func(p *silentProgram) { p.trigger = "allocated" }, noted},
		"a new high":               {func(p *silentProgram) { p.trigger = "high-water" }, none},
		"a signal":                 {func(p *silentProgram) { p.trigger = "manual" }, none},
		"the built-in engine":      {func(p *silentProgram) { p.engine = "builtin" }, none},
		"the engine is unknown":    {func(p *silentProgram) { p.engine = "" }, none},
		"another process's end":    {func(p *silentProgram) { p.pid = 2 }, none},
		"a pause before":           {func(p *silentProgram) { p.minute = func(i int) int { return i + 31*(i/6) } }, none},
		"a pause right at the end": {func(p *silentProgram) { p.minute = func(i int) int { return i + 31*(i/last) } }, none},
		"a shorter pause":          {func(p *silentProgram) { p.minute = func(i int) int { return i + 10*(i/6) } }, judged},
		"a file is missing":        {func(p *silentProgram) { p.lines = snapshotLine(14, 30, 1, "time") }, none},
		"a file of another process is missing": {
			func(p *silentProgram) { p.lines = snapshotLine(14, 30, 2, "time") }, judged,
		},
		"the file of the exit is missing": {
			func(p *silentProgram) {
				p.lines = snapshotLine(14, 71, 1, "time") + snapshotLine(14, 71, 1, "exit")
			}, judged,
		},
		"the recording failed": {
			func(p *silentProgram) {
				p.lines = fmt.Sprintf(`{"end":{"time":%q,"error":"no space left on device"}}`+"\n", clock(72))
			}, none,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := aSilentProgram()
			c.change(&p)
			result := p.judged(t, growth.Options{})
			note, ok := silence(result.Notes)
			require.Equal(t, c.want != none, ok, "%v", result.Notes)
			require.Equal(t, c.want == judged, note.Still)
			require.Equal(t, ok && p.trigger == "time", note.Timed)
			if !strings.HasSuffix(name, "the end") { // the pause itself shows in the curve
				require.Equal(t, c.want == judged, result.Verdict == verdict.SeriesUndecided, result.Chance)
			}
			if ok {
				require.Equal(t, time.Duration(p.minutes)*time.Minute, note.Time)
			}
		})
	}
}

// TestASilenceIsThatOfTheWholeProcess: a part of a series does not make a pause long.
func TestASilenceIsThatOfTheWholeProcess(t *testing.T) {
	p := aSilentProgram()
	p.minutes, p.work = 5, 50
	_, ok := silence(p.judged(t, growth.Options{From: 5}).Notes)
	require.False(t, ok, "5 minutes are half of what is judged, but not of the recording")
	p = aSilentProgram()
	_, ok = silence(p.judged(t, growth.Options{To: 10}).Notes)
	require.False(t, ok, "the last snapshots are not judged")
	_, ok = silence(p.judged(t, growth.Options{From: 8}).Notes)
	require.False(t, ok, "four snapshots are too few")
}

// TestTheExitShowsWhatASilenceHides: the snapshot of the exit is larger by more than the program
// can have allocated until the timer was due.
func TestTheExitShowsWhatASilenceHides(t *testing.T) {
	for atExit, judged := range map[int]bool{11: true, 13: true, 14: false, 30: false} {
		p := aSilentProgram()
		p.lines = snapshotLine(13, 70, 1, "exit")
		bytes := func(i int) int { return min(i, 11)<<20 + (i/12)*(atExit-11)<<20 }
		result := p.judged(t, growth.Options{}, site{0x400100, bytes})
		require.Equal(t, 1, result.Count(sites.AtExit))
		note, _ := silence(result.Notes)
		require.Equal(t, judged, note.Still, "%d MiB", atExit)
		require.Equal(t, judged, result.Verdict == verdict.SeriesUndecided, "%d MiB", atExit)
	}
}

// TestASilenceAfterAFall: the heap as a whole falls, but a site grew until it was full.
func TestASilenceAfterAFall(t *testing.T) {
	p := aSilentProgram()
	p.lines = snapshotLine(13, 70, 1, "exit")
	rises := func(i int) int { return min(i, 11) << 20 }
	falls := func(i int) int { return (30 - 2*min(i, 11)) << 20 }
	result := p.judged(t, growth.Options{}, site{0x400100, rises}, site{0x400200, falls})
	note, _ := silence(result.Notes)
	require.True(t, note.Still)
	require.Equal(t, verdict.SeriesUndecided, result.Verdict)
}
