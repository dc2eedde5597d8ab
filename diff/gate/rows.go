package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// row is what is judged: a function, the suppressed sites of a function, or the whole heap. Its
// levels are the sums of those of its sites.
type row struct {
	function, file string
	sites          []*site          // nil for the whole heap
	levels         []baseline.Level // by run
	suppression    *suppress.Entry  // or nil
	fingerprint    string
	limits         limits
}

// limits are the thresholds of a row.
type limits struct {
	Thresholds
	chosenZ    bool // the caller chose Z
	chosenSize bool // the caller chose Bytes or Share
	rule       int  // the index in Options.Sites of the rule of the row, -1 for none
}

// groupSites sums sites by the function that they are attributed to, without template arguments, by
// its file, and by their suppression. Different functions with the same name (static functions, or
// functions in anonymous namespaces) are in different files. A function that moved to another file
// is one row, because its sites were matched by their call paths.
func groupSites(sites []*site, o Options) []*row {
	type key struct {
		function, file string
		suppression    *suppress.Entry
	}
	index := map[key]*row{}
	var rows []*row
	for _, s := range sites {
		k := key{s.Identity.Function(), s.File(), s.suppression}
		r := index[k]
		if r == nil {
			r = &row{function: k.function, file: k.file, suppression: k.suppression}
			r.levels = make([]baseline.Level, len(s.levels))
			index[k] = r
			rows = append(rows, r)
		}
		r.sites = append(r.sites, s)
		for run := range s.levels {
			r.levels[run] = r.levels[run].Add(s.levels[run])
		}
	}
	files := filesByFunction(rows)
	for _, r := range rows {
		r.limits = o.limits(r)
		r.fingerprint = fingerprint(r, len(files[r.function]) > 1)
	}
	return rows
}

func filesByFunction(rows []*row) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, r := range rows {
		if out[r.function] == nil {
			out[r.function] = map[string]bool{}
		}
		out[r.function][r.file] = true
	}
	return out
}

// fingerprint is the same for a function in every build and run. The file is a part of it only if
// functions in several files have the name, so that a function may move to another file.
func fingerprint(r *row, severalFiles bool) string {
	text := "heaplapse.gate/1\x00" + r.function
	if severalFiles {
		text += "\x00" + r.file
	}
	if r.suppression != nil {
		text += "\x00suppressed " + r.suppression.Pattern
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// wholeHeap is the row of the heap as a whole, without the rows that may grow: those that are
// suppressed or have thresholds of their own. It catches many functions that grow by a little each.
func wholeHeap(rs runs, rows []*row, o Options) *row {
	return heapWithout(rs, o, slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !r.excluded() }))
}

// heapWithout is the heap without some rows.
func heapWithout(rs runs, o Options, rows []*row) *row {
	heap := &row{}
	for run, r := range rs.all {
		l := r.Total
		for _, row := range rows {
			l.Bytes -= row.levels[run].Bytes
			l.Slope -= row.levels[run].Slope
			l.AllocBytes -= row.levels[run].AllocBytes
		}
		heap.levels = append(heap.levels, l)
	}
	heap.limits = o.heapLimits()
	return heap
}

// excluded reports whether the heap as a whole is judged without the row.
func (r *row) excluded() bool { return r.suppression != nil || r.limits.rule >= 0 }

// excluded is a note on what the heap as a whole is judged without.
func excluded(rows []*row) []Note {
	n := Note{Kind: NoteExcluded}
	for _, r := range rows {
		if r.excluded() {
			n.Count++
			n.Bytes += r.levels[0].Bytes
		}
	}
	if n.Count == 0 {
		return nil
	}
	return []Note{n}
}

// unusedRules are notes on rules that match no function: their patterns may be misspelt.
func unusedRules(rows []*row, o Options) (out []Note) {
	for i, rule := range o.Sites {
		if !slices.ContainsFunc(rows, func(r *row) bool { return r.limits.rule == i }) {
			out = append(out, Note{Kind: NoteUnusedRule, Text: rule.Pattern.String()})
		}
	}
	return out
}

// names are what a rule for the row is matched with: the function, its file and its module.
func (r *row) names() []string {
	s := r.sites[0]
	if s.Blame < 0 {
		return []string{r.function}
	}
	f := s.Frames[s.Blame]
	return []string{r.function, f.Function, f.File, f.Module}
}

// isNew reports whether no earlier run has the row.
func (r *row) isNew() bool {
	return !slices.ContainsFunc(r.levels[1:], func(l baseline.Level) bool { return l != baseline.Level{} })
}

// isIn reports whether one of the runs has the row.
func (r *row) isIn(runs []int) bool {
	return slices.ContainsFunc(runs, func(run int) bool { return r.levels[run] != baseline.Level{} })
}

// isGone reports whether the current run does not have the row.
func (r *row) isGone() bool { return r.levels[0] == baseline.Level{} }

// unmatched are the bytes of the row's sites without a match, in the current run and the latest
// earlier one.
func (r *row) unmatched() (bytes float64) {
	for _, s := range r.sites {
		if s.tier == identity.Unmatched {
			bytes += s.levels[0].Bytes + s.levels[1].Bytes
		}
	}
	return bytes
}

// current returns the sites that the current run has, or all sites if it has none of them.
func (r *row) current() []*site {
	out := slices.DeleteFunc(slices.Clone(r.sites), func(s *site) bool { return s.levels[0] == baseline.Level{} })
	if len(out) == 0 {
		return r.sites
	}
	return out
}

// stacks is the number of call paths in the current run; in the earlier runs if the row is gone.
func (r *row) stacks() int { return len(r.current()) }

// tier is the least sure tier at which a site of the row was matched.
func (r *row) tier() identity.Tier {
	out := identity.Unmatched
	if r.isNew() || r.isGone() {
		return out
	}
	for _, s := range r.sites {
		out = identity.LeastSure(out, s.tier)
	}
	return out
}
