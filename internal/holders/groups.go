//go:build linux && amd64

package holders

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// group is a group of blocks, of which some are chosen at random, larger ones more likely: the answer is about bytes.
// Evenly spaced ones may all have the same place in a pattern in which the program requests blocks.
type group struct {
	answer.Group
	chosen []chosen
	least  int     // index of the one with the lowest number
	skip   float64 // bytes of blocks until the next one is chosen
}

// chosen is a block, and a random number. Those with the highest numbers stay.
type chosen struct {
	address uint64
	number  float64 // the logarithm of the key in the algorithm, which is between 0 and 1
}

// add adds a block. A block is chosen with a probability that is proportional to its size (Efraimidis and Spirakis,
// Weighted random sampling with a reservoir, algorithm A-ExpJ).
func (g *group) add(b blocks.Block, random *rand.Rand) {
	size := int64(b.Size())
	if g.Blocks == 0 {
		g.Least = size
	}
	g.Blocks, g.Bytes = g.Blocks+1, g.Bytes+size
	g.Least, g.Most = min(g.Least, size), max(g.Most, size)
	weight := float64(max(size, 1))
	if len(g.chosen) < looked {
		g.chosen = append(g.chosen, chosen{b.Start, math.Log(1-random.Float64()) / weight})
		if len(g.chosen) < looked {
			return
		}
	} else {
		if g.skip -= weight; g.skip > 0 {
			return
		}
		low := math.Exp(g.chosen[g.least].number * weight)
		g.chosen[g.least] = chosen{b.Start, math.Log(1-random.Float64()*(1-low)) / weight}
	}
	for i := range g.chosen {
		if g.chosen[i].number < g.chosen[g.least].number {
			g.least = i
		}
	}
	g.skip = math.Log(1-random.Float64()) / g.chosen[g.least].number
}

// addresses returns those of the chosen blocks.
func (g *group) addresses() (list []uint64) {
	for _, c := range g.chosen {
		list = append(list, c.address)
	}
	return list
}

// Groups tells what holds the blocks of the types or sizes that have most memory, most first.
func (l *Look) Groups(ctx context.Context, most int) ([]answer.Group, error) {
	if most == 0 {
		return nil, nil
	}
	types, sizes := map[string]*group{}, map[int]*group{} // by size where the type is unknown
	random := rand.New(rand.NewPCG(1, 2))                 // the same numbers each time
	for _, r := range l.set.Regions() {
		words := &blocks.Window{Memory: l.snapshot.Memory, Within: r.Range}
		for b := range r.All() {
			if b.Free {
				continue
			}
			var g *group
			if typ := l.typeOf(ctx, b.Range, words); typ != "" {
				g = find(types, typ)
				g.Type = typ
			} else {
				g = find(sizes, classOf(b.Size()))
			}
			g.add(b, random)
		}
	}
	list := slices.AppendSeq(slices.Collect(maps.Values(types)), maps.Values(sizes))
	slices.SortFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Least, b.Least))
	})
	list = list[:min(len(list), most)]
	groups := make([]answer.Group, len(list))
	for i, g := range list {
		var err error
		if g.Held, err = l.held(ctx, g.addresses()); err != nil {
			return nil, err
		}
		groups[i] = g.Group
	}
	return groups, ctx.Err()
}

// find returns the group of a key, which is made if there is none.
func find[K comparable](groups map[K]*group, key K) *group {
	g := groups[key]
	if g == nil {
		g = &group{}
		groups[key] = g
	}
	return g
}

// typeOf returns the type of the object in a block, if the block itself tells it, or "".
func (l *Look) typeOf(ctx context.Context, b blocks.Range, words *blocks.Window) string {
	if l.python != nil {
		if t := l.python.TypeIn(b, words.Word); t != "" {
			return t
		}
	}
	first, ok := words.Word(b.Start)
	if !ok {
		return ""
	}
	return l.names.ClassOf(ctx, first)
}

// classOf returns a number for a size: its own up to 1 KiB, and one of eight for each doubling above.
func classOf(size uint64) int {
	const exact = 10 // bits
	if size < 1<<exact {
		return int(size)
	}
	n := bits.Len64(size)
	return n<<exact | int(size>>(n-4))
}
