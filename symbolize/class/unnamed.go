package class

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Unnamed is the memory in use of one snapshot that is attributed to functions without a name, by
// reason. It shows how much memory the missing files would name.
type Unnamed struct {
	// Total is the bytes in use on all stacks that were counted. It is less than the heap if the
	// snapshot is truncated.
	Total int64
	// Bytes is the part of Total that is attributed to functions without a name.
	Bytes int64
	Rows  []UnnamedRow
	// Symbols have the modules.
	Symbols *symbolize.Symbols

	blamer  *Blamer
	modules map[unnamedKey]int64
}

// UnnamedRow is the memory that has no name for one reason.
type UnnamedRow struct {
	Reason symbolize.Reason
	Bytes  int64
	// Modules has the modules with that reason, in descending order of bytes.
	Modules []symbolize.ModuleID
}

type unnamedKey struct {
	reason symbolize.Reason
	module symbolize.ModuleID
}

// NewUnnamed returns an empty count. Add counts a stack; Done completes the count.
func NewUnnamed(s *symbolize.Symbols, rules *Rules) *Unnamed {
	return &Unnamed{Symbols: s, blamer: NewBlamer(s, rules), modules: map[unnamedKey]int64{}}
}

// Add counts the bytes in use on a stack.
func (u *Unnamed) Add(id heapfile.StackID, bytes int64) {
	if bytes == 0 {
		return
	}
	u.Total += bytes
	stack := u.Symbols.Stack(id)
	ref, ok := u.blamer.Blame(stack)
	if !ok {
		return
	}
	if l := &u.Symbols.Locations[stack[ref.Position]]; !l.Named() {
		u.Bytes += bytes
		u.modules[unnamedKey{l.Reason, l.Module}] += bytes
	}
}

// Done sorts the rows in descending order of bytes, and returns u.
func (u *Unnamed) Done() *Unnamed {
	keys := make([]unnamedKey, 0, len(u.modules))
	for k := range u.modules {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b unnamedKey) int {
		return cmp.Or(cmp.Compare(u.modules[b], u.modules[a]), cmp.Compare(a.reason, b.reason),
			cmp.Compare(a.module, b.module))
	})
	for _, k := range keys {
		i := slices.IndexFunc(u.Rows, func(r UnnamedRow) bool { return r.Reason == k.reason })
		if i < 0 {
			i = len(u.Rows)
			u.Rows = append(u.Rows, UnnamedRow{Reason: k.reason})
		}
		u.Rows[i].Bytes += u.modules[k]
		if k.module != symbolize.NoModule {
			u.Rows[i].Modules = append(u.Rows[i].Modules, k.module)
		}
	}
	slices.SortStableFunc(u.Rows, func(a, b UnnamedRow) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return u
}

// Negligible reports whether less than a hundredth of the memory has no name, or nothing was
// counted. u may be nil.
func (u *Unnamed) Negligible() bool { return u == nil || u.Bytes*100 < u.Total || u.Bytes <= 0 }
