package samples

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Sample is a block of memory that was sampled, and that has not been freed.
type Sample struct {
	Address, Size uint64
	// Site is the number of its call path.
	Site uint32
	// Number tells the order in which samples were taken, from 1 on.
	Number uint32
}

// Engine has the addresses of what the engine exports.
type Engine struct{ Live, Sites uint64 }

// EngineOf returns the engine whose symbols have some addresses, or false if there is none.
func EngineOf(symbol func(name string) uint64) (Engine, bool) {
	e := Engine{Live: symbol("heaplapse_live"), Sites: symbol("heaplapse_sites")}
	return e, e.Live != 0 && e.Sites != 0
}

// Table is what the engine has recorded.
type Table struct {
	// Live has the samples by their numbers.
	Live []Sample
	// Newest is the number of the newest sample, which may have been freed.
	Newest uint32
	// Own lists the memory that the engine has from the kernel. Its data are not among it.
	Own []blocks.Range
	// Full reports whether the list of that memory is full, so that Own may lack some.
	Full bool

	memory blocks.Memory
	sites  uint64 // the array of pointers
	nsites uint32
}

const (
	word      = 8
	placeSize = 24
	maxPlaces = 1 << 26
	pagesSize = 16
	maxPages  = 1 << 16
	siteSize  = 64
	perBlock  = 512
	maxSites  = 1 << 20
	maxFrames = 1 << 12
	chunkSize = 1 << 20 / placeSize * placeSize
	// Addresses from named on stand for functions of scripts. In files, the engine adds namedImage to them for each
	// process image (engine/src/base/names.h).
	named      = 1 << 56
	namedImage = 1 << 40
)

// ErrMalformed is wrapped by errors about tables whose numbers cannot be true.
var ErrMalformed = errors.New("malformed table of heaplapse's engine")

// Read reads the tables. It returns an empty Table if the engine does not record.
func Read(memory blocks.Memory, engine Engine) (*Table, error) {
	t, live, err := open(memory, engine)
	if err != nil {
		return nil, err
	}
	if err := t.readOwn(live[2], live[3]); err != nil {
		return nil, err
	}
	return t, t.readLive(live[0], maxPlaces)
}

// ErrLimit is returned by ReadLive if there are more samples.
var ErrLimit = errors.New("too many live samples")

// ReadLive reads the samples, of which there are at most some, but not Own. The process may go on.
func ReadLive(memory blocks.Memory, engine Engine, most uint64) (*Table, error) {
	t, live, err := open(memory, engine)
	if err != nil {
		return nil, err
	}
	const sparse = 4 // a table that has just grown has one sample in four places
	return t, t.readLive(live[0], sparse*most)
}

// open reads where the tables are, and all but their content.
func open(memory blocks.Memory, engine Engine) (*Table, []uint64, error) {
	t := &Table{memory: memory}
	live, err := words(memory, engine.Live, 4)
	if err != nil {
		return nil, nil, err
	}
	sites, err := words(memory, engine.Sites, 2)
	if err != nil {
		return nil, nil, err
	}
	t.sites = sites[0]
	if t.nsites, err = number(memory, sites[1]); err == nil && t.nsites > maxSites {
		err = fmt.Errorf("%d sites: %w", t.nsites, ErrMalformed)
	}
	if err != nil {
		return nil, nil, err
	}
	t.Newest, err = number(memory, live[1])
	return t, live, err
}

func (t *Table) readOwn(start, end uint64) error {
	if end < start || end-start > maxPages*pagesSize {
		return fmt.Errorf("%d bytes of pages: %w", end-start, ErrMalformed)
	}
	b := make([]byte, end-start)
	if err := t.memory.Read(start, b); err != nil {
		return err
	}
	t.Full = true
	for ; len(b) >= pagesSize; b = b[pagesSize:] {
		at, size := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[word:])
		switch {
		case at == 0:
			t.Full = false
		case at+size > at:
			t.Own = append(t.Own, blocks.Range{Start: at, End: at + size})
		}
	}
	return nil
}

// readLive reads the table that a pointer leads to, of at most some places. While an entry is moved, it may be there
// twice.
func (t *Table) readLive(pointer, most uint64) error {
	current, err := words(t.memory, pointer, 1)
	if err != nil {
		return err
	}
	table, err := words(t.memory, current[0], 2)
	if err != nil {
		return err
	}
	if table[0] == 0 {
		return nil
	}
	if table[1] >= maxPlaces {
		return fmt.Errorf("%d places: %w", table[1], ErrMalformed)
	}
	if table[1] >= most {
		return ErrLimit
	}
	b := make([]byte, chunkSize)
	for at, left := table[0], (table[1]+1)*placeSize; left > 0; {
		n := min(left, chunkSize)
		if err := t.memory.Read(at, b[:n]); err != nil {
			return err
		}
		t.add(b[:n])
		at, left = at+n, left-n
	}
	slices.SortFunc(t.Live, func(a, b Sample) int { // there may be a million
		if a.Number != b.Number {
			return cmp.Compare(a.Number, b.Number)
		}
		return cmp.Compare(a.Address, b.Address)
	})
	t.Live = slices.CompactFunc(t.Live, func(a, b Sample) bool { return a.Address == b.Address })
	return nil
}

// add adds the samples in some places.
func (t *Table) add(places []byte) {
	for b := places; len(b) >= placeSize; b = b[placeSize:] {
		s := Sample{
			binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]),
			binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:]),
		}
		if s.Address != 0 && s.Site < t.nsites {
			t.Live = append(t.Live, s)
		}
	}
}

// Stack returns the call path of a site, the leaf first, as the snapshots of a process image have it.
func (t *Table) Stack(site uint32, image int) ([]uint64, error) {
	if site >= t.nsites {
		return nil, fmt.Errorf("site %d of %d: %w", site, t.nsites, ErrMalformed)
	}
	block, err := words(t.memory, t.sites+uint64(site/perBlock)*word, 1)
	if err != nil {
		return nil, err
	}
	s, err := words(t.memory, block[0]+uint64(site%perBlock)*siteSize, 3)
	if err != nil {
		return nil, err
	}
	n := int(uint32(s[2]))
	if n > maxFrames {
		return nil, fmt.Errorf("%d frames: %w", n, ErrMalformed)
	}
	frames, err := words(t.memory, s[1], n)
	for i, f := range frames {
		if f >= named {
			frames[i] += uint64(image) * namedImage
		}
	}
	return frames, err
}

func words(memory blocks.Memory, at uint64, n int) ([]uint64, error) {
	b := make([]byte, n*word)
	if err := memory.Read(at, b); err != nil {
		return nil, fmt.Errorf("reading the tables of heaplapse's engine at %#x: %w", at, err)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[i*word:])
	}
	return list, nil
}

func number(memory blocks.Memory, at uint64) (uint32, error) {
	var b [4]byte
	if err := memory.Read(at, b[:]); err != nil {
		return 0, fmt.Errorf("reading the tables of heaplapse's engine at %#x: %w", at, err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}
