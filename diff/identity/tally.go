package identity

// Tally counts, for each [Tier], the sites that were matched at it.
type Tally [Unmatched + 1]TierShare

// TierShare counts the matches at one tier, on both sides.
type TierShare struct {
	Sites int
	Bytes float64 // in use
	// BaseBytes are those of Bytes that are in use on the base side.
	BaseBytes float64
}

// Add counts a match. base and current are the bytes that its sites have in use on each side.
func (t *Tally) Add(m Match, base, current float64) {
	t[m.Tier].Sites += len(m.Base) + len(m.Current)
	t[m.Tier].Bytes += base + current
	t[m.Tier].BaseBytes += base
}

// Bytes returns the bytes in use of all sites.
func (t *Tally) Bytes() (sum float64) {
	for _, s := range t {
		sum += s.Bytes
	}
	return sum
}

// UnmatchedShare returns the share of the bytes, 0 to 1, that no tier matched.
func (t *Tally) UnmatchedShare() float64 {
	if t.Bytes() <= 0 {
		return 0
	}
	return t[Unmatched].Bytes / t.Bytes()
}

// Unrelated returns the share of the bytes, 0 to 1, that no tier matched on the side that matches
// better. One side alone may have many bytes that the other lacks: those of a new leak.
func (t *Tally) Unrelated() float64 {
	var base, all float64
	for _, s := range t {
		base, all = base+s.BaseBytes, all+s.Bytes
	}
	lost := t[Unmatched]
	return min(shareOf(lost.BaseBytes, base), shareOf(lost.Bytes-lost.BaseBytes, all-base))
}

// shareOf is 1 if there is nothing.
func shareOf(part, whole float64) float64 {
	if whole <= 0 {
		return 1
	}
	return part / whole
}

// LeastSure returns the less certain of two tiers; a tier that matched comes before [Unmatched].
func LeastSure(a, b Tier) Tier {
	if a == Unmatched || b == Unmatched {
		return min(a, b)
	}
	return max(a, b)
}
