// Package symcache keeps the frames of resolved addresses between runs, in one file per module.
//
// The key of a file contains everything that an answer depends on: another build of the module,
// another debug file, or another style of names has another cache file. Failures to find a file are
// not kept.
//
// The cache is not trusted: a damaged file is ignored and replaced. It is optional: if it cannot be
// written, addresses are resolved again in the next run. Files are replaced as a whole, so any
// number of processes may share the directory; if two write the same file at once, the last one
// wins.
package symcache

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/infile"
)

const (
	suffix = ".sym"
	// maxDir is the size of the directory, in bytes, above which the least recently used files are
	// removed.
	maxDir = 1 << 30
)

// Cache holds the answers of one module. A nil Cache holds nothing.
type Cache struct {
	dir   string
	key   *Key
	table *table // nil if there is none
}

// Open loads the answers that a directory holds for a key.
func Open(dir string, key *Key) *Cache {
	c := &Cache{dir: dir, key: key}
	c.table, _ = load(c.path(), key.text()) // what cannot be read is resolved again
	return c
}

// Find copies the answer for an address to e, whose Frames it reuses, and reports whether there is
// one.
func (c *Cache) Find(addr uint64, e *Entry) bool {
	return c != nil && c.table != nil && c.table.find(addr, e)
}

// Flags returns the flags that were saved with the answers.
func (c *Cache) Flags() uint32 {
	if c == nil || c.table == nil {
		return 0
	}
	return c.table.flags
}

func (c *Cache) path() string {
	return filepath.Join(c.dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(c.key.text())), suffix))
}

// load reads a cache file and marks it as used.
func load(path, key string) (*table, error) {
	f, info, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil, errDamaged
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	if _, err := io.Copy(&text, io.LimitReader(f, maxFile+1)); err != nil {
		return nil, err
	}
	t, err := decode(text.String())
	if err != nil {
		return nil, err
	}
	if t.key != key {
		return nil, errDamaged
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // best effort; affects only eviction order
	return t, nil
}

// Save merges answers with the current file, to which other processes may have added some. It
// writes nothing if one of the key's files has changed. Find must not be called afterwards.
func (c *Cache) Save(flags uint32, answers iter.Seq2[uint64, *Entry]) error {
	if c == nil || !c.key.current() {
		return nil
	}
	b := newBuilder(c.key.text(), flags)
	for addr, e := range answers {
		b.add(addr, e)
	}
	if b.size() > maxFile {
		return errTooBig
	}
	c.table = nil // let it be collected before the file is read again
	if old, err := load(c.path(), c.key.text()); err == nil && b.size()+old.size() <= maxFile {
		old.copyTo(b)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := c.write(b); err != nil {
		return err
	}
	return trim(c.dir, maxDir)
}

func (c *Cache) write(b *builder) error {
	return atomicfile.Write(c.path(), atomicfile.Options{Mode: 0o600}, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<16)
		return errors.Join(b.encode(out), out.Flush())
	})
}

// trim removes abandoned temporary files and, while the files of a directory have more than limit
// bytes, the least recently used one.
func trim(dir string, limit int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type cached struct {
		path string
		size int64
		used time.Time
	}
	var files []cached
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), suffix) {
			files = append(files, cached{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b cached) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range files {
		if total <= limit {
			break
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
	return nil
}
