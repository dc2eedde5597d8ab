package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// entry is an allocation site in all runs.
type entry struct {
	site        *baseline.Site   // of the newest run that has it
	levels      []baseline.Level // by run
	suppression *suppress.Entry
	tier        identity.Tier // at which the latest earlier run has it; Unmatched if it has not
}

// row is a function, or what is suppressed of it, in all runs. Over all rows, the levels add up to the runs' sites.
type row struct {
	total       bool // it is the whole heap
	name, file  string
	entries     []*entry
	levels      []baseline.Level // by run
	suppression *suppress.Entry
	stacks      int  // in the current run, or in the earlier ones if it is gone
	own         bool // it has thresholds of its own
	limits      Thresholds
	chosen      bool // its Z is not the default one
	relations   relations
}

// catalogue finds the sites of all runs in each other.
type catalogue struct {
	list         []*entry
	sites        []identity.Site // parallel
	runs         int
	suppressions *suppress.List
	tiers        [identity.Unmatched + 1]TierShare
}

// newCatalogue takes the current run's sites, and looks for those of one earlier run after the other, latest first. What is not found joins.
func newCatalogue(runs []*baseline.Run, suppressions *suppress.List) *catalogue {
	c := &catalogue{runs: len(runs), suppressions: suppressions}
	for i := range runs[0].Sites {
		c.add(&runs[0].Sites[i], 0)
	}
	for r := 1; r < len(runs); r++ {
		c.match(runs[r], r)
	}
	return c
}

func (c *catalogue) add(s *baseline.Site, run int) {
	e := &entry{site: s, levels: make([]baseline.Level, c.runs), suppression: c.suppressions.Find(namesOf(s)), tier: identity.Unmatched}
	e.levels[run] = s.Level
	c.list, c.sites = append(c.list, e), append(c.sites, s.Identity)
}

// namesOf is what a suppression is looked for in: as LeakSanitizer does, in all functions, files and modules of the stack.
func namesOf(s *baseline.Site) (out []string) {
	for _, f := range s.Frames {
		out = append(out, f.Function, f.File, f.Module)
	}
	return out
}

func (c *catalogue) match(r *baseline.Run, index int) {
	base := make([]identity.Site, len(r.Sites))
	for i := range r.Sites {
		base[i] = r.Sites[i].Identity
	}
	for _, m := range identity.Pair(base, c.sites) {
		if index == 1 {
			c.count(m, r)
		}
		for _, b := range m.Base {
			c.place(&r.Sites[b], m, index)
		}
	}
}

// place adds a site of an earlier run to the entries that it matches: in proportion to their size, for they are not told
// apart. Those that are not suppressed come first, so that none seems new beside one that is.
func (c *catalogue) place(s *baseline.Site, m identity.Match, run int) {
	if len(m.Current) == 0 {
		c.add(s, run)
		return
	}
	to := slices.DeleteFunc(slices.Clone(m.Current), func(i int) bool { return c.list[i].suppression != nil })
	if len(to) == 0 {
		to = m.Current
	}
	all := 0.0
	for _, i := range to {
		all += max(0, c.list[i].site.Bytes)
	}
	for _, i := range to {
		share := 1 / float64(len(to))
		if all > 0 {
			share = max(0, c.list[i].site.Bytes) / all
		}
		c.list[i].levels[run] = c.list[i].levels[run].Add(scaled(s.Level, share))
	}
}

// scaled is a share of a level.
func scaled(l baseline.Level, by float64) baseline.Level {
	if by == 1 {
		return l
	}
	return baseline.Level{
		Bytes: l.Bytes * by, Objects: l.Objects * by, Peak: l.Peak * by, Slope: l.Slope * by, SlopeError: l.SlopeError * by,
		AllocBytes: l.AllocBytes * by, AllocObjects: l.AllocObjects * by, Noise: l.Noise * math.Sqrt(by),
	}
}

// count keeps how the latest earlier run was matched.
func (c *catalogue) count(m identity.Match, r *baseline.Run) {
	t := &c.tiers[m.Tier]
	t.Sites += len(m.Base) + len(m.Current)
	for _, i := range m.Base {
		t.Bytes += r.Sites[i].Bytes
	}
	for _, i := range m.Current {
		t.Bytes += c.list[i].levels[0].Bytes
		c.list[i].tier = m.Tier
	}
}

// rows groups the entries by the function to blame, without template arguments, its file, and by what suppresses them. Functions of one name may
// be in many files (those of anonymous namespaces, static ones); one that moved to another file is found there by
// its call paths, and is one row.
func (c *catalogue) rows() []*row {
	type key struct {
		name, file string
		suppressed *suppress.Entry
	}
	index := map[key]*row{}
	var out []*row
	for _, e := range c.list {
		k := key{functionOf(e.site), fileOf(e.site), e.suppression}
		r := index[k]
		if r == nil {
			r = &row{name: k.name, file: k.file, suppression: k.suppressed, levels: make([]baseline.Level, c.runs)}
			index[k] = r
			out = append(out, r)
		}
		r.include(e)
	}
	for _, r := range out {
		r.relations = relationsOf(r)
	}
	return out
}

func (r *row) include(e *entry) {
	r.entries = append(r.entries, e)
	for i := range e.levels {
		r.levels[i] = r.levels[i].Add(e.levels[i])
	}
}

// functionOf is the function to blame without template arguments, "" if there is none.
func functionOf(s *baseline.Site) string {
	if s.Identity.Blame < 0 {
		return ""
	}
	return identity.Untemplated(s.Identity.Frames[s.Identity.Blame])
}

// fileOf is where the function to blame is: the base name of its source file, for directories differ between machines; else its module's.
func fileOf(s *baseline.Site) string {
	if s.Blame < 0 {
		return ""
	}
	f := s.Frames[s.Blame]
	return path.Base(cmp.Or(f.File, f.Module))
}

// names are what a rule for the row is looked for in.
func (r *row) names() []string {
	site := r.entries[0].site
	if site.Blame < 0 {
		return []string{r.name}
	}
	f := site.Frames[site.Blame]
	return []string{r.name, f.Function, f.File, f.Module}
}

// tier is the least sure one of its entries that were matched.
func (r *row) tier() identity.Tier {
	out := identity.Unmatched
	for _, e := range r.entries {
		if e.tier != identity.Unmatched && (out == identity.Unmatched || e.tier > out) {
			out = e.tier
		}
	}
	return out
}

// representative is the entry that changed most in the direction of the row, of the current run unless the row is gone.
func (r *row) representative(change func(*entry) float64) *baseline.Site {
	live := slices.DeleteFunc(slices.Clone(r.entries), func(e *entry) bool { return e.levels[0] == baseline.Level{} })
	if len(live) == 0 {
		live = r.entries
	}
	best := slices.MaxFunc(live, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(change(a), change(b)), cmp.Compare(a.site.Bytes, b.site.Bytes))
	})
	return best.site
}

// fingerprint is the same for a function in every build and run. Its file counts only where another function has the same name, so that it
// may move.
func (c *comparer) fingerprint(r *row) string {
	text := "heaplapse.gate/1\x00" + r.name
	if slices.ContainsFunc(c.rows, func(o *row) bool { return o.name == r.name && o.file != r.file }) {
		text += "\x00" + r.file
	}
	if r.suppression != nil {
		text += "\x00suppressed " + r.suppression.Pattern
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// relations are where a function stands in the program: by them it is found where its allocations may have moved to.
type relations struct {
	function string
	callers  map[string]bool // the functions right above it
	class    string          // what its name is qualified with
	files    map[string]bool // base names
}

func relationsOf(r *row) relations {
	out := relations{function: r.name, callers: map[string]bool{}, class: qualifier(r.name), files: map[string]bool{}}
	for _, e := range r.entries {
		id, s := &e.site.Identity, e.site
		if id.Blame >= 0 && id.Blame+1 < len(id.Frames) {
			out.callers[identity.Untemplated(id.Frames[id.Blame+1])] = true
		}
		if s.Blame >= 0 && s.Frames[s.Blame].File != "" {
			out.files[path.Base(s.Frames[s.Blame].File)] = true
		}
	}
	return out
}

// qualifier is the class or namespace of a name, "" for none.
func qualifier(name string) string {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return ""
	}
	return name[:i]
}

// near says how close two functions are: 3 if they have one name, one calls the other or the same function calls both, 2 if they are of one class or namespace, 1 if they are
// of one file, 0 if they are not.
func (a *relations) near(b *relations) int {
	switch {
	case a.function == b.function || a.callers[b.function] || b.callers[a.function] || overlap(a.callers, b.callers):
		return 3
	case a.class != "" && a.class == b.class:
		return 2
	case overlap(a.files, b.files):
		return 1
	}
	return 0
}

func overlap(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}
