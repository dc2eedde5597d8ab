package text

import "github.com/heaplapse/heaplapse/internal/units"

// FromTo is a number of bytes at the first and at the last of some snapshots, as in "1.00 MiB →
// 2.00 MiB". Of one snapshot it is a single number.
func FromTo(first, last int64, snapshots int) string {
	if snapshots == 1 {
		return units.Bytes(last)
	}
	return units.Bytes(first) + " → " + units.Bytes(last)
}
