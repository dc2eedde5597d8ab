package dwarf

import "sync"

// nameMemo keeps the names of entries that other entries refer to, by offset in .debug_info. Most
// references stay within a unit, so that goroutines, which read different units, rarely wait for
// the same shard. The zero value is empty.
type nameMemo struct {
	shards [64]struct {
		mu    sync.Mutex
		names map[uint64]funcName
	}
}

// shardOf returns the shard of an offset. Nearby offsets share a shard.
func shardOf(off uint64) uint64 { return off >> 16 & 63 }

func (m *nameMemo) get(off uint64) (funcName, bool) {
	s := &m.shards[shardOf(off)]
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.names[off]
	return n, ok
}

func (m *nameMemo) set(off uint64, n funcName) {
	s := &m.shards[shardOf(off)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[uint64]funcName{}
	}
	s.names[off] = n
}
