package identity

// Tally counts, for each [Tier], the sites that were matched at it.
type Tally [Unmatched + 1]TierShare

// TierShare counts the matches at one tier, on both sides.
type TierShare struct {
	Sites int
	Bytes float64 // in use
}

// Add counts a match. bytes are those that its sites have in use.
func (t *Tally) Add(m Match, bytes float64) {
	t[m.Tier].Sites += len(m.Base) + len(m.Current)
	t[m.Tier].Bytes += bytes
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

// LeastSure returns the less certain of two tiers; a tier that matched comes before [Unmatched].
func LeastSure(a, b Tier) Tier {
	if a == Unmatched || b == Unmatched {
		return min(a, b)
	}
	return max(a, b)
}
