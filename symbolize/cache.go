package symbolize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/symcache"
)

// namesVersion is part of the cache key, because development builds have no version of their own. A
// change of the names that are shown increments it.
const namesVersion = 5

// Flags in a cache: properties of the module and its debug file.
const (
	cacheHasDebug = 1 << iota
	cacheHasSymbols
)

// moduleCache has the cached answers of one module, and the answers to add. A nil moduleCache keeps
// nothing.
type moduleCache struct {
	cache *symcache.Cache
	debug string // path of the separate debug file
	flags uint32
	fresh []*Location
	entry symcache.Entry // reused
}

// openCache loads the answers for a file. It returns nil if there is no cache directory, or if the
// files cannot be identified.
func (r *resolver) openCache(ctx context.Context, file *elffile.File) *moduleCache {
	if r.cacheDir == "" {
		return nil
	}
	key := symcache.NewKey(fmt.Sprintf("names %d demangle %d exact %v", namesVersion, r.demangle, r.style == forELF))
	debug, err := r.identify(ctx, file, key)
	if err != nil {
		return nil
	}
	return &moduleCache{cache: symcache.Open(r.cacheDir, key), debug: debug}
}

// identify adds all files that the answers depend on to the key. It returns the path of the
// separate debug file.
func (r *resolver) identify(ctx context.Context, file *elffile.File, key *symcache.Key) (debug string, err error) {
	if err := key.Add("module", file); err != nil {
		return "", err
	}
	info := file
	if !hasDebug(file) {
		if d := r.search.DebugFile(ctx, file); d != nil {
			defer d.Close()
			path, err := filepath.Abs(d.Path)
			if err = errors.Join(err, key.Add(fmt.Sprintf("debug file %q", path), d)); err != nil {
				return "", err
			}
			info, debug = d, d.Path
		}
	}
	if _, _, linked := info.AltLink(); linked {
		alt := r.search.AltFile(ctx, info)
		if alt == nil {
			return "", fs.ErrNotExist
		}
		defer alt.Close()
		if err := key.Add("supplementary file", alt); err != nil {
			return "", err
		}
	}
	return debug, nil
}

// answer fills in the locations that are in the cache and returns the others.
func (c *moduleCache) answer(located []*Location) (left []*Location) {
	if c == nil {
		return located
	}
	for _, l := range located {
		if !c.find(l) {
			left = append(left, l)
		}
	}
	return left
}

func (c *moduleCache) find(l *Location) bool {
	e := &c.entry
	if !c.cache.Find(l.Offset, e) || int(e.Source) >= len(sourceNames) || int(e.Reason) >= len(reasonNames) {
		return false
	}
	l.Source, l.Reason, l.shown = Source(e.Source), Reason(e.Reason), true
	l.Near, l.NearDistance = e.Near, e.NearDistance
	if len(e.Frames) > 0 {
		l.Frames = make([]Frame, len(e.Frames))
	}
	for i := range e.Frames {
		l.Frames[i] = ofCache(&e.Frames[i])
	}
	return true
}

// complete reports whether the cache has the answers for all addresses, and there is at least one.
// The debug information of the module is then not opened.
func (c *moduleCache) complete(all, left []*Location) bool {
	return c != nil && len(left) == 0 && len(all) > 0
}

// describe sets the fields of a module that describe its debug file.
func (c *moduleCache) describe(m *Module) {
	flags := c.cache.Flags()
	m.Debug = c.debug
	m.HasDebug, m.HasSymbols = flags&cacheHasDebug != 0, flags&cacheHasSymbols != 0
}

// keep keeps resolved locations for save. It drops answers from malformed files, and from split
// debug information, whose files are not in the key.
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

// save adds what was resolved to the cache.
func (c *moduleCache) save() error {
	if c == nil || len(c.fresh) == 0 {
		return nil
	}
	return c.cache.Save(c.flags, func(yield func(uint64, *symcache.Entry) bool) {
		for _, l := range c.fresh {
			if c.encode(l); !yield(l.Offset, &c.entry) {
				return
			}
		}
	})
}

// encode copies a location to c.entry.
func (c *moduleCache) encode(l *Location) {
	c.entry = symcache.Entry{
		Source: uint8(l.Source), Reason: uint8(l.Reason), Near: l.Near, NearDistance: l.NearDistance,
		Frames: c.entry.Frames[:0],
	}
	for i := range l.Frames {
		c.entry.Frames = append(c.entry.Frames, l.Frames[i].stored())
	}
}
