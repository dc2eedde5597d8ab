package table

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Compaction is what was done for one night of one table.
type Compaction struct {
	// Path is the sorted file.
	Path string
	// Files is the number of files that it replaced, Rows that of its rows, and Bytes its size.
	Files int
	Rows  int64
	Bytes int64
}

// Compact sorts the files of each night of each table below dir into one. Files of a night that is
// compacted already are added to it. used is called with each result. Others may read and write the
// tables meanwhile.
//
// A night takes a few hundred MB of memory at most, whatever its size: parts are sorted, and
// merged.
func Compact(dir string, used func(Compaction) error) error {
	found := false
	for _, t := range []*Table{Sites, Runs} {
		nights, err := t.nights(dir)
		if err != nil {
			return err
		}
		for _, n := range nights {
			found = true
			c, err := t.compact(n)
			if err == nil && c.Files > 0 {
				err = used(c)
			}
			if err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: no tables of a fleet: fleet export writes them", dir)
	}
	return nil
}

// nights are the folders of a table. Those that a killed compaction has put aside are put back.
func (t *Table) nights(dir string) ([]string, error) {
	folder := filepath.Join(literal(dir), t.Name)
	aside, err := filepath.Glob(filepath.Join(folder, ".night=*"+scratchSuffix+asideSuffix))
	if err != nil {
		return nil, err
	}
	for _, path := range aside {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "."), scratchSuffix+asideSuffix)
		if night := filepath.Join(filepath.Dir(path), name); !exists(night) {
			if err := os.Rename(path, night); err != nil {
				return nil, err
			}
		}
	}
	return filepath.Glob(filepath.Join(folder, "night=*"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// scratchSuffix is that of the folder of a compaction.
const scratchSuffix = ".compacting"

// literal is a pattern that matches only the name itself.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// compact sorts the files of a night into one.
func (t *Table) compact(folder string) (Compaction, error) {
	lock, err := lockFolder(filepath.Dir(folder))
	if err != nil {
		return Compaction{}, err
	}
	defer lock.Close()
	scratch := filepath.Join(filepath.Dir(folder), "."+filepath.Base(folder)+scratchSuffix)
	if err := t.rescue(scratch, folder, nil); err != nil {
		return Compaction{}, err
	}
	files, err := inputs(folder)
	if err != nil || len(files) == 1 && filepath.Base(files[0]) == compacted {
		return Compaction{}, err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return Compaction{}, err
	}
	out := Compaction{Path: filepath.Join(folder, compacted), Files: len(files)}
	s := &sorter{table: t, dir: scratch}
	if err := s.sort(files, filepath.Join(scratch, compacted)); err != nil {
		return Compaction{}, errors.Join(err, os.RemoveAll(scratch))
	}
	if err := exchange(scratch, folder); err != nil {
		return Compaction{}, errors.Join(err, os.RemoveAll(scratch))
	}
	out.Rows = s.rows
	if info, err := os.Stat(out.Path); err == nil {
		out.Bytes = info.Size()
	}
	return out, t.rescue(scratch, folder, files)
}

// inputs are the files of a night: those of runs that have a replacement only as that.
func inputs(folder string) (out []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".")
		name := strings.TrimSuffix(e.Name(), replacement)
		if !hidden && strings.HasSuffix(name, suffix) {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// rescue removes the folder of a compaction, which has the old files of a night once it is done.
// Files that are not among the inputs of the compaction were written meanwhile, and go to the
// night. After a crash the inputs are not known: then files of runs that the night does not have
// are kept.
func (t *Table) rescue(scratch, folder string, files []string) error {
	left, err := inputs(scratch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var known map[string]bool // runs of the night
	if files == nil && slices.ContainsFunc(left, isLoose) {
		if known, err = t.runsOf(filepath.Join(folder, compacted)); err != nil {
			return err
		}
	}
	for _, path := range left {
		old := filepath.Join(folder, filepath.Base(path))
		if !isLoose(path) || slices.Contains(files, old) || known[runOf(path)] || exists(old) {
			continue
		}
		if err := os.Rename(path, old); err != nil {
			return err
		}
	}
	return os.RemoveAll(scratch)
}

func isLoose(path string) bool { return filepath.Base(path) != compacted }

// runOf is the run that a file is named after.
func runOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), replacement), suffix)
}

// sorter sorts rows that do not fit into memory.
type sorter struct {
	table *Table
	dir   string // of parts
	rows  int64
	parts []string
	part  []parquet.Row
	// replaced are the runs whose rows in the compacted file are old.
	replaced map[string]bool
}

// partRows is the number of rows that are sorted in memory.
const partRows = 100_000

func (s *sorter) sort(files []string, path string) error {
	s.replaced = map[string]bool{}
	for _, f := range files {
		if isLoose(f) {
			s.replaced[runOf(f)] = true
		}
	}
	for _, f := range files {
		if err := s.add(f); err != nil {
			return err
		}
	}
	if err := s.spill(); err != nil {
		return err
	}
	if err := s.merge(path); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) add(path string) error {
	old, run := !isLoose(path), s.table.column("run_id").ColumnIndex
	return s.table.each(path, func(row parquet.Row) error {
		if old && s.replaced[text(row, run)] {
			return nil
		}
		s.rows++
		s.part = append(s.part, row.Clone())
		if len(s.part) == partRows {
			return s.spill()
		}
		return nil
	})
}

// spill sorts the rows in memory and writes them to a file.
func (s *sorter) spill() error {
	compare := s.table.compare()
	slices.SortStableFunc(s.part, compare)
	path := filepath.Join(s.dir, fmt.Sprintf(".part%d", len(s.parts)))
	s.parts = append(s.parts, path)
	err := s.create(path, func(w *writer) error {
		_, err := w.WriteRows(s.part)
		return err
	})
	clear(s.part)
	s.part = s.part[:0]
	return err
}

// create writes a file of the table.
func (s *sorter) create(path string, content func(*writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := s.table.writer(f)
	return errors.Join(content(w), w.Close(), f.Close())
}

// merge merges the sorted parts.
func (s *sorter) merge(path string) error {
	m := &merger{compare: s.table.compare()}
	defer m.close()
	for _, p := range s.parts {
		if err := m.open(s.table, p); err != nil {
			return err
		}
	}
	heap.Init(m)
	return s.create(path, func(w *writer) error {
		out := make([]parquet.Row, 1)
		for m.Len() > 0 {
			out[0] = m.parts[0].row
			if _, err := w.WriteRows(out); err != nil {
				return err
			}
			if err := m.advance(); err != nil {
				return err
			}
		}
		return nil
	})
}

// merger is a heap of sorted files, by their next rows.
type merger struct {
	compare func(a, b parquet.Row) int
	parts   []*part
	files   []*os.File
}

type part struct {
	*reader
	row parquet.Row
}

func (m *merger) open(t *Table, path string) error {
	f, in, err := t.open(path)
	if err != nil {
		return err
	}
	m.files = append(m.files, f)
	p := &part{reader: newReader(path, in, t.schema())}
	if p.row, err = p.next(); errors.Is(err, io.EOF) {
		return nil
	}
	m.parts = append(m.parts, p)
	return err
}

// advance replaces the smallest row by the next one of its file.
func (m *merger) advance() error {
	row, err := m.parts[0].next()
	switch {
	case errors.Is(err, io.EOF):
		m.parts[0].close()
		heap.Pop(m)
		return nil
	case err != nil:
		return err
	}
	m.parts[0].row = row
	heap.Fix(m, 0)
	return nil
}

func (m *merger) close() {
	for _, f := range m.files {
		f.Close()
	}
}

// Len, Less, Swap, Push and Pop are those of heap.Interface.
func (m *merger) Len() int           { return len(m.parts) }
func (m *merger) Less(i, j int) bool { return m.compare(m.parts[i].row, m.parts[j].row) < 0 }
func (m *merger) Swap(i, j int)      { m.parts[i], m.parts[j] = m.parts[j], m.parts[i] }
func (m *merger) Push(x any)         { m.parts = append(m.parts, x.(*part)) }
func (m *merger) Pop() any {
	last := m.parts[len(m.parts)-1]
	m.parts = m.parts[:len(m.parts)-1]
	return last
}

// compare returns the order of the rows of a compacted file.
func (t *Table) compare() func(a, b parquet.Row) int {
	type key struct {
		column int
		kind   parquet.Type
	}
	keys := make([]key, len(t.order))
	for i, name := range t.order {
		leaf := t.column(name)
		keys[i] = key{leaf.ColumnIndex, leaf.Node.Type()}
	}
	return func(a, b parquet.Row) int {
		for _, k := range keys {
			if c := k.kind.Compare(value(a, k.column), value(b, k.column)); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a), len(b))
	}
}
