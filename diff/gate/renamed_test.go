package gate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/stretchr/testify/require"
)

// changedPlaces are builds of the service in which memory moved from one function to another. The
// second function of each is where it moved to.
var changedPlaces = map[string]struct {
	p    program
	from string
	to   string
}{
	"renamed": {
		service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main")),
		"Cache::insert", "Cache::store",
	},
	"renamed in its file": {
		service().with("Cache::insert", rename("store Server::dispatch Server::loop main")),
		"Cache::insert", "store",
	},
	"split": {
		append(service().with("Cache::insert", times(0.4)),
			function{"Cache::allocate_entry Cache::insert Server::handle Server::loop main", "cache.cc", 24 * mib, 0, 240 * mib}),
		"Cache::insert", "Cache::allocate_entry",
	},
	"split in its class": {
		append(service().with("Cache::insert", times(0.4)),
			function{"Cache::allocate_entry Server::dispatch Server::loop main", "entry.cc", 24 * mib, 0, 240 * mib}),
		"Cache::insert", "Cache::allocate_entry",
	},
	"inlined into another": {
		service().with("Pool<Node>::grow", times(0)).with("Index::build", times(1.8)),
		"Pool::grow", "Index::build",
	},
	"from one to the other": {
		service().with("Cache::insert", times(0.5)).with("parse_request", times(32.0/12)),
		"Cache::insert", "parse_request",
	},
}

// mixedSets calls check with every set of 1 to 12 runs of an old build and 1 to 12 later ones of a
// new build, without a reference run, and with the first run of each of them as reference.
func mixedSets(n noise, old, current program, check func(name string, set []*baseline.Run, reference *baseline.Run)) {
	for before := 1; before <= 12; before++ {
		for after := 0; after <= 12; after++ {
			if !testutil.Full() && (before+after)%3 != 1 && before > 2 && after > 2 {
				continue // a third of the large ones
			}
			set := old.set(before, n)
			for night := range after {
				set = append(set, current.run(before+night, n))
			}
			name := fmt.Sprintf("%d old, %d new", before, after)
			check(name, set, nil)
			check(name+", the first is the reference run", set, set[0])
			check(name+", the last is the reference run", set, set[len(set)-1])
		}
	}
}

// TestMovedAmongTheBaselines: what a function had under its old name counts for the new one, however
// many runs of the set have the old name.
func TestMovedAmongTheBaselines(t *testing.T) {
	for name, c := range changedPlaces {
		t.Run(name, func(t *testing.T) {
			n := newNoise(21, 0.005)
			mixedSets(n, service(), c.p, func(name string, set []*baseline.Run, reference *baseline.Run) {
				r, err := Compare(c.p.run(30, n), set, reference, Options{})
				require.NoError(t, err)
				require.Equal(t, Pass, r.Verdict, "%s: %+v", name, r.Rows)
				for _, function := range []string{c.from, c.to} {
					require.Contains(t, []Status{Moved, Unchanged, Changed}, status(r, function), "%s: %s", name, function)
				}
			})
		})
	}
}

// TestLeaksAmongMovedBaselines: a set with runs before and after a move hides neither a leak in the
// function that moved, nor a new function nearby.
func TestLeaksAmongMovedBaselines(t *testing.T) {
	for name, c := range changedPlaces {
		t.Run(name, func(t *testing.T) {
			n := newNoise(22, 0.005)
			shadow := function{"Cache::shadow Server::handle Server::loop main", "cache.cc", 15 * mib, 0, 0}
			leaking := slices.Clone(c.p)
			for i := range leaking {
				if siteOf(leaking[i], 1).Identity.Function() == c.to {
					leaking[i].bytes += 15 * mib
				}
			}
			mixedSets(n, service(), c.p, func(name string, set []*baseline.Run, reference *baseline.Run) {
				r, err := Compare(leaking.run(30, n), set, reference, Options{})
				require.NoError(t, err)
				require.Equal(t, Regressed, status(r, c.to), "%s: %+v", name, r.Rows)
				require.InDelta(t, 15*mib, r.Rows[0].Values[0].Rest(), 2*mib, name)
				r, err = Compare(append(slices.Clone(c.p), shadow).run(30, n), set, reference, Options{})
				require.NoError(t, err)
				require.Equal(t, Fail, r.Verdict, name)
				// Of two functions that are new, the nearer one may be the old one under another name.
				require.Contains(t, []string{"Cache::shadow", c.to}, r.Rows[0].Function, "%s: %+v", name, r.Rows)
				require.InDelta(t, 15*mib, r.Rows[0].Values[0].Rest(), 2*mib, name)
			})
		})
	}
}

// TestRenamedTwice: a set may have two earlier names of a function, or its present name before
// another one.
func TestRenamedTwice(t *testing.T) {
	n := newNoise(23, 0.005)
	first := service()
	second := first.with("Cache::insert", rename("Cache::store Server::handle Server::loop main"))
	third := first.with("Cache::insert", rename("Cache::keep Server::handle Server::loop main"))
	for name, c := range map[string]struct {
		nights   []program
		current  program
		function string
	}{
		"three names":              {[]program{first, first, second}, third, "Cache::keep"},
		"three names, four runs":   {[]program{first, first, second, third}, third, "Cache::keep"},
		"three names, many runs":   {append(slices.Repeat([]program{second}, 12), first), third, "Cache::keep"},
		"the first name again":     {[]program{first, first, second, second}, first, "Cache::insert"},
		"one night with the other": {[]program{first, second, first, first, first}, first, "Cache::insert"},
	} {
		t.Run(name, func(t *testing.T) {
			var set []*baseline.Run
			for night, p := range c.nights {
				set = append(set, p.run(night, n))
			}
			r, err := Compare(c.current.run(20, n), set, nil, Options{})
			require.NoError(t, err)
			require.Equal(t, Pass, r.Verdict, "%+v", r.Rows)
			r, err = Compare(c.current.with(c.function, times(1.3)).run(20, n), set, nil, Options{})
			require.NoError(t, err)
			require.Equal(t, Regressed, status(r, c.function), "%+v", r.Rows)
			require.InDelta(t, 12*mib, r.Rows[0].Values[0].Rest(), 2*mib)
		})
	}
}

// TestALossOfAnotherNight: a function that shrank some nights ago does not explain one that is new
// tonight.
func TestALossOfAnotherNight(t *testing.T) {
	n := newNoise(24, 0.005)
	shrunk := service()[1:]
	leaking := append(slices.Clone(shrunk),
		function{"Cache::shadow Server::handle Server::loop main", "cache.cc", 40 * mib, 0, 0})
	for before := 1; before <= 12; before++ {
		for after := 2; after <= 12; after++ { // a single run could be an outlier
			set := service().set(before, n)
			for night := range after {
				set = append(set, shrunk.run(before+night, n))
			}
			r, err := Compare(leaking.run(30, n), set, nil, Options{})
			require.NoError(t, err)
			require.Equal(t, Regressed, status(r, "Cache::shadow"), "%d, %d: %+v", before, after, r.Rows)
		}
	}
}
