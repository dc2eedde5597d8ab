package growth

// Reason is what a verdict on a series rests on.
type Reason uint8

// Reasons.
const (
	NothingGrows     Reason = iota // no site grows to the end of the series
	SitesLeak                      // Result.Leaks sites grow to the end of the series
	SitesSuspect                   // Result.Suspects sites grow, but not clearly to the end
	TooFewSnapshots                // the series has fewer than trend.MinPoints snapshots
	OnlyHeapGrows                  // the heap grows, but no single site does
	OnlyProcessGrows               // the process grows, but no site of its heap does
)

// NoteKind is a fact about a result that a reader should know.
type NoteKind uint8

// Kinds of notes.
const (
	// NoteFewSnapshots: with Note.Snapshots snapshots, fewer than [GoodPoints], a cache that fills up may look like a leak.
	NoteFewSnapshots NoteKind = iota
	// NoteNoAlloc: there are no cumulative counts, so growth caused by higher load may look like a leak.
	NoteNoAlloc
	// NoteProcessGrows: the resident set grew by Note.Bytes more than the heap.
	NoteProcessGrows
)

// Note is one such fact, with its numbers.
type Note struct {
	Kind      NoteKind
	Snapshots int
	Bytes     int64
}

// GoodPoints is the number of snapshots from which on verdicts are good; [trend.MinPoints] is the least.
const GoodPoints = 12
