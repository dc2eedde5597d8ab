//go:build linux

package births

import (
	"slices"
	"time"
)

// mark is a moment at which the newest sample was known.
type mark struct {
	newest uint32
	at     time.Time
}

// maxMarks limits the moments that are kept.
const maxMarks = 40

// marks are the moments of snapshots, in order. Moments are only ever removed, so that what was allocated between two
// of them stays together in all later snapshots.
type marks []mark

// add adds a moment. If there are too many, it removes the one whose absence changes ages least, relative to them. The
// first and the last one stay.
func (m *marks) add(newest uint32, at time.Time) {
	if n := len(*m); n > 0 && (newest < (*m)[n-1].newest || !at.Truncate(time.Millisecond).After((*m)[n-1].at)) {
		*m = (*m)[:0] // the numbers began again, or the clock was set back
	}
	*m = append(*m, mark{newest, at.Truncate(time.Millisecond)})
	if len(*m) <= maxMarks {
		return
	}
	least, worth := 1, 0.
	for i := 1; i < len(*m)-1; i++ {
		wide := (*m)[i+1].at.Sub((*m)[i-1].at)
		age := at.Sub((*m)[i].at)
		if w := float64(wide) / float64(age); i == 1 || w < worth {
			least, worth = i, w
		}
	}
	*m = slices.Delete(*m, least, least+1)
}

// late tells that the last moment's newest sample is older than one with a number.
func (m *marks) late(number uint32) {
	n := len(*m)
	if n == 0 {
		return
	}
	least := uint32(0)
	if n > 1 {
		least = (*m)[n-2].newest
	}
	(*m)[n-1].newest = min((*m)[n-1].newest, max(number-1, least))
}

// of returns the index of the first moment before which a sample was allocated. One that is newer than all counts for
// the last.
func (m marks) of(number uint32) int {
	i, _ := slices.BinarySearchFunc(m, number, func(m mark, n uint32) int {
		if m.newest < n {
			return -1
		}
		return 1
	})
	return min(i, len(m)-1)
}
