package names

import "sync"

// Table demangles many names while its user still looks for more: demangling takes longer than all
// other work on an address. It demangles each name once. Add and Intern can be called by several
// goroutines at once.
type Table struct {
	mode    Mode
	batches chan []*Entry
	workers sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	entries map[string]*Entry
	strings map[string]string
	batch   []*Entry
}

// Entry is a name in a [Table].
type Entry struct {
	Linkage string
	Name    string // for display; set by Table.Wait
}

// batchSize is the number of names that a worker gets at once.
const batchSize = 64

// NewTable starts a table with a number of workers. Wait ends them.
func NewTable(mode Mode, workers int) *Table {
	t := &Table{
		mode: mode, batches: make(chan []*Entry, 16), entries: map[string]*Entry{}, strings: map[string]string{},
	}
	for range workers {
		t.workers.Go(t.work)
	}
	return t
}

// work demangles names until there are no more.
func (t *Table) work() {
	for batch := range t.batches {
		for _, e := range batch {
			e.Name = Demangle(e.Linkage, t.mode)
		}
	}
}

// Add returns the entry of a name, new or known.
func (t *Table) Add(linkage string) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[linkage]; e != nil {
		return e
	}
	e := &Entry{Linkage: linkage}
	t.entries[linkage] = e
	if t.batch = append(t.batch, e); len(t.batch) == batchSize {
		t.batches <- t.batch
		t.batch = nil
	}
	return e
}

// Intern returns one string for all equal strings, so that they are in memory once.
func (t *Table) Intern(s string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.strings[s]; ok {
		return known
	}
	t.strings[s] = s
	return s
}

// Wait waits until all names are demangled, and ends the table. It must be called once, after the
// last call of Add.
func (t *Table) Wait() {
	t.batches <- t.batch
	close(t.batches)
	t.workers.Wait()
}
