package verdict

import "fmt"

// Site is the verdict on the memory of a site.
type Site uint8

// Verdicts on a site, the most alarming first.
const (
	Leak         Site = iota // grows, most likely without end
	LeakLate                 // a leak that began within the series
	Suspect                  // may leak, but not clearly
	Loading                  // grows while code runs that runs once, such as that of imported modules
	Warming                  // follows a saturating curve
	Plateaued                // grew and has stopped
	LoadDriven               // grows because the process allocates faster
	GrewThenFlat             // one jump, flat since
	Irregular                // grows in a way that no other verdict describes, and that is hardly a leak
	Shrinking
	Stable
	Insufficient // too few points or samples
)

// MinPoints is the least number of snapshots for a verdict.
const MinPoints = 6

// Family is a group of verdicts with a colour and a mark in common.
type Family string

// The families of sites. The page's script has their looks.
const (
	FamilyLeak    Family = "leak"
	FamilySuspect Family = "suspect"
	FamilyFills   Family = "fills"
	FamilyLoad    Family = "load"
	FamilyQuiet   Family = "quiet"
)

// siteRow is a row of the table. Meaning continues "its memory", as a part of a sentence.
type siteRow struct {
	name, meaning string
	family        Family
}

var sites = [...]siteRow{
	Leak:         {"leak", "it grows, most likely without end", FamilyLeak},
	LeakLate:     {"leak-late", "it grows, most likely without end, since some time within the series", FamilyLeak},
	Suspect:      {"suspect", "it may leak, but that is not clear", FamilySuspect},
	Loading:      {"loading", "it grows while Python imports modules, and their code runs once", FamilyFills},
	Warming:      {"warming", "it grows ever more slowly, like a cache that fills", FamilyFills},
	Plateaued:    {"plateaued", "it grew and has stopped", FamilyFills},
	LoadDriven:   {"load-driven", "it grows because the program allocates more at a time", FamilyLoad},
	GrewThenFlat: {"grew-then-flat", "it grew in one jump", FamilyFills},
	Irregular:    {"irregular", "it grew, but hardly as a leak does", FamilyQuiet},
	Shrinking:    {"shrinking", "it shrinks", FamilyQuiet},
	Stable:       {"stable", "it does not grow, or not by more than its noise", FamilyQuiet},
	Insufficient: {"insufficient", fmt.Sprintf("fewer than %d snapshots, or too few samples, show it", MinPoints), FamilyQuiet},
}

// Sites are all verdicts on a site, the most alarming first.
func Sites() []Site {
	out := make([]Site, len(sites))
	for i := range out {
		out[i] = Site(i)
	}
	return out
}

// String returns the name, such as "leak-late".
func (s Site) String() string { return sites[s].name }

// Meaning returns what the verdict says of a site, as a part of a sentence.
func (s Site) Meaning() string { return sites[s].meaning }

// Explains reports whether the verdict says why the memory grew, or that it does not: then it is no
// part of a leak.
func (s Site) Explains() bool {
	family := s.Family()
	return family == FamilyFills || family == FamilyLoad || s == Stable
}

// Family returns the family, which has a colour.
func (s Site) Family() Family { return sites[s].family }

// IsLeak reports whether the site leaks.
func (s Site) IsLeak() bool { return sites[s].family == FamilyLeak }

// Rank orders sites in tables. What leaks is one rank.
func (s Site) Rank() int {
	if s.IsLeak() {
		return 0
	}
	return int(s)
}

// IsSuspicious reports whether the site leaks or may leak.
func (s Site) IsSuspicious() bool { return s.IsLeak() || sites[s].family == FamilySuspect }

// FailOn are the verdicts at which a check can fail, the most alarming first.
var FailOn = []string{Leak.String(), Suspect.String()}

// Fails reports whether a check that fails on a verdict ("" for none) does so if sites leak or are
// suspects.
func Fails(on string, leaks, suspects int) bool {
	return on != "" && leaks > 0 || on == Suspect.String() && suspects > 0
}
