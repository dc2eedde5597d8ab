package holders

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// RSS is where the resident memory of a process is.
type RSS struct {
	Result *rss.Result
	Width  int // of the terminal, or 0
	// Least is the least share of the resident memory that has a line of its own; 0 takes leastShare.
	Least float64
}

const (
	// mostRows limits the lines of the report.
	mostRows     = 15
	mostAdvice   = 3
	mostProblems = 2
	// leastShare is the default of RSS.Least.
	leastShare = 0.01
	// notable is the least share of a whole for a detail.
	notable  = 0.1
	anyWidth = 120
)

// JSON writes the result.
func (r *RSS) JSON(w io.Writer) error { return text.WriteJSON(w, r.Result) }

// Text writes the report for a terminal.
func (r *RSS) Text(w io.Writer) error {
	lines := []string{r.fit(fmt.Sprintf("RSS %s of process %d", units.Bytes(r.Result.Bytes), r.Result.PID),
		append([]string{text.Clean(r.Result.Program)}, r.outside()...)...)}
	last := r.Remarks()
	for _, row := range r.Rows(mostRows - len(lines) - len(last)) {
		begin := r.numbers(row.Bytes) + strings.Repeat("  ", row.Level)
		lines = append(lines, r.fit(begin+row.Text, row.Details...))
		if row.Note != "" {
			const indent = "        "
			lines = append(lines, indent+text.Clip(row.Note, r.width()-len(indent)))
		}
	}
	p := text.Printer{W: w}
	for _, line := range append(lines, last...) {
		p.Linef("%s", line)
	}
	return p.Err
}

// Remarks are lines about what is not known, and about what helps.
func (r *RSS) Remarks() []string {
	list := r.problems()
	for _, a := range r.Result.Advice[:min(len(r.Result.Advice), mostAdvice)] {
		list = append(list, r.advice(a))
	}
	return list
}

// problems are the lines about what is not known.
func (r *RSS) problems() (list []string) {
	for i, problem := range r.Result.Problems {
		if n := len(r.Result.Problems) - i; n > 1 && len(list) == mostProblems-1 {
			return append(list, "not known: "+units.Count(n, "other problem"))
		}
		list = append(list, text.Clip("not known: "+problem, r.width()))
	}
	return list
}

func (r *RSS) width() int {
	if r.Width == 0 {
		return anyWidth
	}
	return r.Width
}

// numbers is what a line begins with: "  290 MiB  36 %  ".
func (r *RSS) numbers(bytes int64) string {
	share := 0.
	if r.Result.Bytes > 0 {
		share = float64(bytes) / float64(r.Result.Bytes)
	}
	return fmt.Sprintf("%9s %5s  ", units.Bytes(bytes), units.Percent(share))
}

// fit is a line with as many details in parentheses as it has room for.
func (r *RSS) fit(line string, details ...string) string {
	inside := ""
	for _, d := range details {
		longer := text.Join(", ", inside, d)
		if text.Width(line+" ("+longer+")") > r.width() {
			break
		}
		inside = longer
	}
	if inside == "" {
		return line
	}
	return line + " (" + inside + ")"
}

// outside is what is not resident memory, but may be looked for.
func (r *RSS) outside() (list []string) {
	for _, of := range []struct {
		bytes int64
		text  string
	}{
		{r.Result.HugePages, "in huge pages"}, {r.Result.Swap, "more in swap"}, {r.Result.Hugetlb, "more in hugetlb"},
	} {
		if of.bytes > 0 {
			list = append(list, units.Bytes(of.bytes)+" "+of.text)
		}
	}
	return list
}

// Row is a line about parts. A part of another one has a level.
type Row struct {
	Bytes   int64
	Level   int
	Text    string
	Details []string
	Note    string // on a line of its own
}

// Rows returns rows of at most n lines, those with most bytes. The last one has what is too little for a row.
func (r *RSS) Rows(n int) (list []Row) {
	for least := cmp.Or(r.Least, leastShare) * float64(r.Result.Bytes); ; least *= 1.2 {
		if list = r.above(least); linesOf(list) <= n || least > float64(r.Result.Bytes) {
			return list
		}
	}
}

func linesOf(rows []Row) (n int) {
	for _, row := range rows {
		n++
		if row.Note != "" {
			n++
		}
	}
	return n
}

// above returns the rows of at least this number of bytes, and one row for all others.
func (r *RSS) above(least float64) (list []Row) {
	rest := int64(0)
	for _, group := range r.groups() {
		if bytes := group[0].Bytes; group[0].Text == "" || float64(bytes) < least {
			rest += bytes
			continue
		}
		list = append(list, group[0])
		for _, part := range group[1:] {
			if float64(part.Bytes) >= least {
				list = append(list, part)
			}
		}
	}
	if rest > 0 {
		list = append(list, Row{Bytes: rest, Text: "other"})
	}
	return list
}

// groups returns all rows, each with its parts. Together they are the resident memory.
func (r *RSS) groups() [][]Row {
	one := func(text string, details []string, kinds ...rss.Kind) []Row {
		return []Row{{Bytes: r.Result.Part(kinds...), Text: text, Details: details}}
	}
	stacks := append([]string{}, units.Count(r.Result.Stacks, "thread"))
	if n := r.Result.EndedStacks; n > 0 {
		stacks = append(stacks, fmt.Sprintf("%d that have ended", n))
	}
	return [][]Row{
		one("blocks of malloc in use", r.blocks(), rss.Blocks, rss.Mapped),
		r.free(),
		one("objects of Python", nil, rss.PythonBlocks),
		one("free in pools of Python", r.pools(), rss.PythonFree, rss.PythonEmpty),
		one("stacks", stacks, rss.Stacks, rss.EndedStacks),
		one("programs, libraries and files", r.files(), rss.Code, rss.Data, rss.Files),
		one("shared memory", largest(r.Result.Shared), rss.SharedMemory),
		one("other private memory", r.anonymous(), rss.Anonymous),
		one("", nil, rss.MallocOwn, rss.Engine, rss.Other),
	}
}

// blocks are details about the blocks of malloc in use.
func (r *RSS) blocks() (list []string) {
	m := r.Result.Malloc
	if m == nil {
		return nil
	}
	list = append(list, units.Grouped(m.Blocks+m.MappedBlocks))
	if sizes := sizesOf(m.Sizes); sizes != "" {
		list = append(list, "most of "+sizes)
	}
	if mapped := r.Result.Part(rss.Mapped); r.isNotable(mapped) {
		list = append(list, fmt.Sprintf("%s in large ones", units.Bytes(mapped)))
	}
	return list
}

// sizesOf names the sizes that have most of the bytes: "112, 96 and 48 bytes".
func sizesOf(sizes []rss.Size) string {
	const most = 3
	all := int64(0)
	for _, s := range sizes {
		all += s.Bytes
	}
	var list []string
	for _, s := range sizes[:min(len(sizes), most)] {
		if float64(s.Bytes) >= notable*float64(all) {
			list = append(list, units.Grouped(s.Size))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return text.And(list...) + " bytes"
}

// free are the rows about free memory of malloc.
func (r *RSS) free() []Row {
	m := r.Result.Malloc
	if m == nil {
		return []Row{{}}
	}
	part := func(kinds ...rss.Kind) int64 { return r.Result.Part(kinds...) }
	trim := "malloc_trim returns them"
	if r.Result.Locked {
		trim = "locked: malloc_trim does not return them"
	}
	return []Row{
		{
			Bytes:   part(rss.FreePages, rss.FreePinned, rss.FreeEnd, rss.FreeRest, rss.Cached),
			Text:    "free memory of malloc",
			Details: []string{units.Count(len(m.Arenas), "arena")},
		},
		{Bytes: part(rss.FreePages), Level: 1, Text: "whole pages", Details: []string{trim}},
		{
			Bytes: part(rss.FreePinned), Level: 1, Text: "held by " + units.Bytes(m.Pinned.Live) + " of blocks",
			Details: []string{"most of " + sizesOf(m.Pinned.Sizes), "on " + units.Grouped(m.Pinned.Pages) + " pages"},
			Note:    holding(m.Pinned.Held),
		},
		{
			Bytes: part(rss.FreeEnd), Level: 1, Text: "at ends of arenas",
			Details: []string{"malloc_trim does not return them"},
		},
		{Bytes: part(rss.FreeRest, rss.Cached), Level: 1, Text: "between blocks, or in caches"},
	}
}

// holding is what holds the blocks that hold pages, or most of them.
func holding(h *answer.Held) string {
	if h == nil || len(h.By) == 0 {
		return ""
	}
	if line := Line(*h); line != "" {
		return line
	}
	return fmt.Sprintf("%d of %d %s", h.By[0].Blocks, h.Looked, Phrase(&h.By[0]))
}

// pools are details about the pools of CPython.
func (r *RSS) pools() (list []string) {
	if empty := r.Result.Part(rss.PythonEmpty); empty > 0 {
		list = append(list, units.Bytes(empty)+" in empty ones")
	}
	return list
}

// files are details about mappings of files.
func (r *RSS) files() []string {
	list := largest(r.Result.Files)
	if bytes := r.Result.Part(rss.Data); r.isNotable(bytes) {
		list = append([]string{"variables " + units.Bytes(bytes)}, list...)
	}
	return list
}

// isNotable reports whether a detail is worth telling.
func (r *RSS) isNotable(bytes int64) bool { return float64(bytes) >= notable*float64(r.Result.Bytes) }

// largest names the largest mappings.
func largest(mappings []rss.Mapping) (list []string) {
	const most, width = 3, 40
	for _, m := range mappings[:min(len(mappings), most)] {
		list = append(list, fmt.Sprintf("%s %s", text.Clip(path.Base(m.Name), width), units.Bytes(m.Bytes)))
	}
	return list
}

// anonymous are details about memory of which nothing is known but its mappings.
func (r *RSS) anonymous() (list []string) {
	if a := r.Result.Allocators; len(a) > 0 {
		list = append(list, "most likely of "+text.Clean(strings.Join(a, ", ")))
	}
	for _, m := range r.Result.Anonymous {
		if m.Name == "" {
			list = append(list, units.Count(int(m.Count), "mapping")+" without a name, the largest "+units.Bytes(m.Largest))
		} else {
			list = append(list, largest([]rss.Mapping{m})...)
		}
	}
	return list
}

// advice is a line about what helps.
func (r *RSS) advice(a rss.Advice) string {
	bytes := units.Bytes(a.Bytes)
	switch a.Means {
	case rss.Trim:
		return r.fit("helps: malloc_trim(0), "+bytes, "after a peak, or regularly")
	case rss.TrimThreshold:
		return r.fit("helps: MALLOC_TRIM_THRESHOLD_=131072, "+bytes, "ends of arenas are returned at once")
	case rss.ArenaMax:
		return r.fit("may help: MALLOC_ARENA_MAX=2, up to "+bytes, "if threads need memory at different times")
	case rss.Allocator:
		return r.fit("may help: jemalloc, up to "+bytes, "if what was freed has other sizes than what is left")
	case rss.SmallPages:
		return r.fit("helps: no transparent huge pages, up to "+bytes, "small pages of zeros in them")
	}
	return ""
}
