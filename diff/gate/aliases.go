package gate

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
)

// Alias says that a function of an earlier build goes on under another key ([identity.Keys]): it
// was renamed, was split, or moved to another module.
type Alias struct {
	// Old and New are the keys of the functions in the earlier and in the current build.
	Old, New identity.Keys
	// OldFunction and NewFunction are their names, normalised and without template arguments.
	OldFunction, NewFunction string
	// Bytes is the part of the bytes in use that went from the one to the other.
	Bytes float64
}

// Aliases compares a run with one of an earlier build. It returns the functions whose keys differ
// although the call paths match, and those that came or went while a function nearby lost or gained
// as much; the largest first.
func Aliases(earlier, current *baseline.Run, o Options) ([]Alias, error) {
	rs, _ := selectRuns(current, []*baseline.Run{earlier}, nil)
	if len(rs.set) == 0 {
		return nil, nil // it is the same run
	}
	if m := rs.mismatches(); len(m) > 0 && !o.Force {
		return nil, &NotComparableError{m}
	}
	var list aliases
	for _, m := range identity.Pair(identities(earlier.Sites), identities(current.Sites)) {
		for _, b := range m.Base {
			for _, c := range m.Current {
				before, after := &earlier.Sites[b], &current.Sites[c]
				list.add(before, after, min(before.Bytes, after.Bytes))
			}
		}
	}
	sites, _ := matchSites(rs.all, nil)
	rows := groupSites(sites, o)
	v := rs.views()[0] // the level
	for gain, m := range compareRows(v, rs, rows, wholeHeap(rs, rows, o)).moves {
		for k, loss := range m.with {
			if m.bytes[k] > 0 && (rows[loss].isGone() || rows[gain].isNew()) {
				list.add(rows[loss].largest(), rows[gain].largest(), m.bytes[k])
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Alias) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list, nil
}

type aliases []Alias

// add adds the functions of two sites, unless they have the same key, or one that means nothing in
// another build.
func (l *aliases) add(before, after *baseline.Site, bytes float64) {
	a := Alias{
		Old: before.Keys(), New: after.Keys(),
		OldFunction: before.Identity.Function(), NewFunction: after.Identity.Function(), Bytes: bytes,
	}
	if a.Old.Site == a.New.Site || !a.Old.Kind.AcrossBuilds() || !a.New.Kind.AcrossBuilds() {
		return
	}
	same := func(o Alias) bool { return o.Old.Site == a.Old.Site && o.New.Site == a.New.Site }
	if i := slices.IndexFunc(*l, same); i >= 0 {
		(*l)[i].Bytes += bytes
		return
	}
	*l = append(*l, a)
}

// largest is the site of a row with the most bytes.
func (r *row) largest() *baseline.Site {
	return slices.MaxFunc(r.sites, func(a, b *site) int { return cmp.Compare(a.Bytes, b.Bytes) }).Site
}
