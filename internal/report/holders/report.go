package holders

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Report is what a look at a process tells.
type Report struct {
	Look *answer.Look
	// Sites are those of the recording that is being made of the process.
	Sites []NamedSite
	// Top is the number of sites that are shown.
	Top int
	// All selects all holders of a group, not only the most frequent ones.
	All   bool
	Width int // of the terminal, or 0
}

// most is the number of holders of a group that are shown.
const most = 3

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) error {
	p := text.Printer{W: w}
	l := r.Look
	line := func(format string, args ...any) {
		p.Linef("%s", text.Wrap(fmt.Sprintf(format, args...), r.Width))
	}
	line("process %d (%s): %s in %s blocks; its threads were stopped for %s", l.PID, l.Program, units.Bytes(l.Bytes),
		units.Grouped(l.Blocks), stopped(l.Stopped))
	few := r.sites(line)
	for i := range l.Groups {
		g := &l.Groups[i]
		line("")
		line("%s in %s", units.Bytes(g.Bytes), name(g))
		few = r.held(&g.Held, line) || few
	}
	if few {
		line("")
		line("What holds less than a tenth of a group may be old memory that was not cleared.")
	}
	if files := r.unnamed(); len(files) > 0 {
		line("")
		line("Variables without a name are in files without debug symbols: install those of %s (Debian: packages whose names "+
			"end in -dbgsym), or pass them with %s DIR.", strings.Join(files, ", "), option.DebugDir)
	}
	if len(l.Doubts) > 0 {
		line("")
		line("Nothing is said to be lost, because not all memory is understood:")
		for _, d := range l.Doubts {
			line("  %s", d)
		}
	}
	if l.Recorded && len(r.Sites) == 0 {
		line("")
		line("heaplapse has recorded this process: \"%s DIRECTORY\", with the directory of that recording, "+
			"tells what holds the memory of each line of code.", option.GrowthCommand)
	}
	return p.Err
}

// sites lists what holds the blocks of each line of code. It reports whether a holder has few of them.
func (r *Report) sites(line func(format string, args ...any)) (few bool) {
	for i := range r.Sites[:min(len(r.Sites), r.Top)] {
		s := &r.Sites[i]
		line("")
		line("%s: %s, %s of them among the older half of all", s.title,
			units.Count(s.Live, "live sample"), units.Grouped(int64(s.Old)))
		few = r.held(&s.Held, line) || few
	}
	return few
}

// unnamed lists the files whose variables have no names, by how many blocks these hold.
func (r *Report) unnamed() (files []string) {
	held := map[string]int{}
	count := func(h *answer.Held) {
		for i := range h.By {
			b := &h.By[i]
			if file := symbolize.FileName(b.Module); file != "" && strings.HasPrefix(b.Name, file+"+0x") {
				held[clean(file)] += b.Blocks
			}
		}
	}
	for i := range r.Look.Groups {
		count(&r.Look.Groups[i].Held)
	}
	for i := range r.Sites {
		count(&r.Sites[i].Held)
	}
	return slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(a, b))
	})
}

// held lists the holders of some blocks. It reports whether one has few of them.
func (r *Report) held(h *answer.Held, line func(format string, args ...any)) (few bool) {
	for i := range h.By {
		if i == most && !r.All && len(h.By) > most+1 {
			rest := 0
			for _, b := range h.By[i:] {
				rest += b.Blocks
			}
			line("    %2d of %d in %d other ways", rest, h.Looked, len(h.By)-i)
			return few
		}
		few = few || isFew(h.By[i].Blocks, *h)
		line("    %2d of %d %s", h.By[i].Blocks, h.Looked, Phrase(&h.By[i]))
	}
	return few
}

// name is what a group has: "41,203 dict" or "1,000 blocks of 49 to 64 bytes".
func name(g *answer.Group) string {
	count := units.Grouped(g.Blocks)
	if g.Type != "" {
		return count + " " + clean(g.Type)
	}
	noun := "blocks"
	if g.Blocks == 1 {
		noun = "block"
	}
	if g.Least == g.Most {
		return fmt.Sprintf("%s %s of %s bytes", count, noun, units.Grouped(g.Most))
	}
	return fmt.Sprintf("%s %s of %s to %s bytes", count, noun, units.Grouped(g.Least), units.Grouped(g.Most))
}

func stopped(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

// JSON writes the look.
func (r *Report) JSON(w io.Writer) error {
	return text.WriteJSON(w, struct {
		*answer.Look
		Lines []NamedSite `json:"lines,omitempty"`
	}{r.Look, r.Sites})
}
