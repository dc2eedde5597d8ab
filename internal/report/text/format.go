package text

import "github.com/heaplapse/heaplapse/internal/units"

// FromTo is what a number of bytes was at the first and at the last of some snapshots; of one snapshot just what it was.
func FromTo(first, last int64, snapshots int) string {
	if snapshots == 1 {
		return units.Bytes(last)
	}
	return units.Bytes(first) + " → " + units.Bytes(last)
}
