package symbolize

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// A cache keeps answers from run to run, a file for each module and state of what names it. What an answer depends on is
// the file's key: another build of the program, another debug file, another way to show names have files of their own,
// and an old one is never asked. Failures to find a file are not kept.
//
// Nothing in the directory is trusted or needed: what is damaged is resolved again and replaced, and what
// cannot be written is left. Files are replaced whole, so that any number of processes may share the
// directory; of two that write the same file at once the last one's answers stay.
const (
	cacheSuffix = ".sym"
	// cacheLimit is the size of the directory, in bytes, above which the files that were not used for longest go.
	cacheLimit = 1 << 30
	// cacheSettled is the age of a file without a build ID from which its time of modification tells it from the one
	// that may replace it.
	cacheSettled = 2 * time.Second
	// cacheLeftover is the age at which a temporary file belongs to nobody any more.
	cacheLeftover = time.Hour
)

// moduleCache is the cached answers of one module, and those that will be added. A nil one keeps nothing.
type moduleCache struct {
	dir, key string
	table    *cacheTable // nil for none
	sources  []fileState
	debug    string
	fresh    []*Location
	flags    uint32
}

// fileState is what a file is told from another by.
type fileState struct{ path, text string }

// stateOf describes a file as it was when it was opened: build ID (else path and inode), size, time of modification.
func stateOf(file *elffile.File) (fileState, error) {
	info := file.Info
	if file.BuildID == "" && time.Since(info.ModTime()) < cacheSettled {
		return fileState{}, fmt.Errorf("%s: changed just now", file.Path)
	}
	id := "build ID " + file.BuildID
	if file.BuildID == "" {
		path, err := filepath.Abs(file.Path)
		if err != nil {
			return fileState{}, err
		}
		id = fmt.Sprintf("path %q inode %d", path, inode(info))
	}
	return fileState{file.Path, fmt.Sprintf("%s size %d time %d", id, info.Size(), info.ModTime().UnixNano())}, nil
}

// openCache loads the answers for a file; nil if the cache is not asked for, or cannot tell this file from others.
func openCache(file *elffile.File, f finder) *moduleCache {
	if f.o.CacheDir == "" {
		return nil
	}
	c := &moduleCache{dir: f.o.CacheDir}
	if err := c.identify(file, f); err != nil {
		return nil
	}
	c.table, _ = loadCache(c.path(), c.key) // what cannot be read is resolved again
	return c
}

// namesVersion counts how names have been shown: builds without a version of their own may share a cache.
const namesVersion = 4

// identify composes the key: all that the answers depend on.
func (c *moduleCache) identify(file *elffile.File, f finder) error {
	lines := []string{"heaplapse " + buildVersion(), fmt.Sprintf("names %d demangle %d exact %v", namesVersion, f.o.Demangle, f.o.exact)}
	add := func(role string, file *elffile.File) error {
		state, err := stateOf(file)
		if err == nil {
			c.sources = append(c.sources, state)
			lines = append(lines, role+" "+state.text)
		}
		return err
	}
	if err := add("module", file); err != nil {
		return err
	}
	info := file
	if !hasDebug(file) {
		if d := f.debugFile(file); d != nil {
			defer d.Close()
			path, err := filepath.Abs(d.Path)
			if err = errors.Join(err, add(fmt.Sprintf("debug file %q", path), d)); err != nil {
				return err
			}
			info, c.debug = d, d.Path
		}
	}
	if _, _, linked := info.AltLink(); linked {
		alt := f.altFile(info)
		if alt == nil {
			return fs.ErrNotExist
		}
		defer alt.Close()
		if err := add("supplementary file", alt); err != nil {
			return err
		}
	}
	c.key = strings.Join(lines, "\n")
	return nil
}

// buildVersion tells builds of this program apart: another one may have other answers.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

func (c *moduleCache) path() string {
	return filepath.Join(c.dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(c.key)), cacheSuffix))
}

// loadCache reads a cache file, and marks it as used.
func loadCache(path, key string) (*cacheTable, error) {
	f, info, err := elffile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxCacheFile {
		return nil, errCacheDamaged
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	if _, err := io.Copy(&text, io.LimitReader(f, maxCacheFile+1)); err != nil {
		return nil, err
	}
	t, err := decodeCache(text.String())
	if err != nil {
		return nil, err
	}
	if t.key != key {
		return nil, errCacheDamaged
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // else it goes sooner, which is all
	return t, nil
}

// answer fills in what is known of the locations and returns those that are left.
func (c *moduleCache) answer(located []*Location) (left []*Location) {
	if c == nil || c.table == nil {
		return located
	}
	for _, l := range located {
		if !c.table.find(l.Offset, l) {
			left = append(left, l)
		}
	}
	return left
}

// complete says whether the module need not be opened: all of its addresses, of which there are some, were answered.
func (c *moduleCache) complete(all, left []*Location) bool {
	return c != nil && len(left) == 0 && len(all) > 0
}

// describe tells what the module brings, from the cache.
func (c *moduleCache) describe(m *Module) {
	m.Debug = c.debug
	m.HasDebug, m.HasSymbols = c.table.flags&cacheHasDebug != 0, c.table.flags&cacheHasSymbols != 0
}

// keep notes what was resolved, to be saved once names are shown. What was damaged, and what depends on
// files that the key does not know (split debug information), is not kept.
func (c *moduleCache) keep(located []*Location, img *image, err error) {
	if c == nil || err != nil || len(img.split.known) > 0 {
		return
	}
	c.fresh = append(c.fresh, located...)
	if img.dwarf != nil {
		c.flags |= cacheHasDebug
	}
	if img.symbols.Len() > 0 {
		c.flags |= cacheHasSymbols
	}
}

// save writes what was resolved, with what is known already: also by others, meanwhile.
func (c *moduleCache) save() error {
	if c == nil || len(c.fresh) == 0 || !c.unchanged() {
		return nil
	}
	b := newCacheBuilder(c.key, c.flags)
	for _, l := range c.fresh {
		b.add(l.Offset, l)
	}
	if b.size() > maxCacheFile {
		return errCacheTooBig
	}
	c.table = nil
	if old, err := loadCache(c.path(), c.key); err == nil && b.size()+old.size() <= maxCacheFile {
		old.copyTo(b)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := c.write(b); err != nil {
		return err
	}
	return trimCache(c.dir, cacheLimit)
}

// unchanged says whether the files are still those that were read.
func (c *moduleCache) unchanged() bool {
	for _, s := range c.sources {
		file, err := elffile.Open(s.path)
		if err != nil {
			return false
		}
		now, err := stateOf(file)
		file.Close()
		if err != nil || now != s {
			return false
		}
	}
	return true
}

func (c *moduleCache) write(b *cacheBuilder) error {
	tmp, err := os.CreateTemp(c.dir, ".tmp-*"+cacheSuffix)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(tmp, 1<<16)
	err = b.encode(out)
	if err = errors.Join(err, out.Flush(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), c.path())
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// trimCache removes the files that were not used for longest until no more than limit bytes are left, and
// temporary files that nobody finished.
func trimCache(dir string, limit int64) error {
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
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), cacheSuffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), ".tmp-") {
			files = append(files, cached{path, info.Size(), info.ModTime()})
			total += info.Size()
		} else if time.Since(info.ModTime()) > cacheLeftover {
			_ = os.Remove(path)
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
