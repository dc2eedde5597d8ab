package causes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions of the paths in this test.
const (
	entry = iota
	loop
	retrace
	serve
	other
	first // of the functions that allocate
)

// fan is a number of sites of a size below some callers.
func fan(from, sites int, growth int64, callers ...int) (out []Path) {
	for i := range sites {
		site := first + from + i
		out = append(out, Path{growth, site, append([]int{site}, callers...)})
	}
	return out
}

func concat(lists ...[]Path) (out []Path) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		paths []Path
		want  []string // function: growth in sites
	}{
		"one caller of many sites":     {concat(fan(0, 40, 10, retrace, loop, entry), fan(50, 9, 10, serve, entry)), []string{"2: 400 in 40"}},
		"the deepest of a chain":       {concat(fan(0, 40, 10, retrace, serve, loop, entry), fan(50, 3, 10, entry)), []string{"2: 400 in 40"}},
		"a part of the paths":          {concat(fan(0, 20, 10, other, retrace, entry), fan(20, 30, 10, retrace, entry), fan(60, 9, 10, serve, entry)), []string{"2: 500 in 50"}},
		"two causes":                   {concat(fan(0, 40, 10, retrace, entry), fan(50, 25, 10, serve, entry)), []string{"2: 400 in 40", "3: 250 in 25"}},
		"one site has most":            {concat(fan(0, 40, 1, retrace, entry), fan(50, 1, 90, retrace, entry)), nil},
		"only the entry":               {concat(fan(0, 9, 10, retrace, entry), fan(10, 9, 10, serve, entry), fan(20, 9, 10, other, entry)), nil},
		"one site":                     {fan(0, 1, 100, retrace, entry), nil},
		"recursion":                    {concat(fan(0, 30, 10, retrace, serve, retrace, entry), fan(40, 5, 10, entry)), []string{"2: 300 in 30"}},
		"a thread without its callers": {concat(fan(0, 30, 10, retrace), fan(40, 8, 10, entry)), []string{"2: 300 in 30"}},
		"what moved does not count":    {concat(fan(0, 30, 10, retrace, entry), fan(40, 30, -10, retrace, entry), fan(80, 9, 10, serve, entry)), []string{"3: 90 in 9"}},
		"nothing":                      {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var growth int64
			for _, p := range c.paths {
				growth += p.Growth
			}
			var got []string
			for _, cause := range Find(c.paths, growth) {
				got = append(got, fmt.Sprintf("%d: %d in %d", cause.Function, cause.Growth, cause.Sites))
			}
			require.Equal(t, c.want, got)
		})
	}
	require.Empty(t, Find(fan(0, 9, -10, retrace, entry), -90), "a heap that shrinks has no causes")
}

// TestCausesAddUp: for any paths, causes have no path in common, their growth is that of their
// paths, and the result is the same each time.
func TestCausesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 500 {
		var paths []Path
		var growth int64
		for range 1 + r.IntN(60) {
			p := Path{Growth: int64(r.IntN(120) - 20), Site: r.IntN(30)}
			for range 1 + r.IntN(6) {
				p.Functions = append(p.Functions, r.IntN(5))
			}
			paths, growth = append(paths, p), growth+p.Growth
		}
		list := Find(paths, growth)
		seen := map[int]bool{}
		for _, c := range list {
			found++
			var sum int64
			for _, i := range c.Paths {
				require.False(t, seen[i])
				require.Contains(t, paths[i].Functions, c.Function)
				seen[i], sum = true, sum+paths[i].Growth
			}
			require.Equal(t, sum, c.Growth)
			require.GreaterOrEqual(t, float64(c.Growth), leastShare*float64(growth))
		}
		require.Equal(t, list, Find(paths, growth))
	}
	require.NotZero(t, found)
}
