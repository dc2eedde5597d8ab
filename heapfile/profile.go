package heapfile

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile/internal/profile"
)

// profileReader reads pprof's profiles. It remembers the frames of earlier files.
type profileReader struct {
	decoder profile.Decoder
	frames  map[Addr][]FrameName
	addrs   []Addr // by location of the profile
	omitted Addr   // stands for callers that were omitted
	hidden  Counts // of the stacks that it ends
}

// omittedName is the function that stands for omitted stacks, or for omitted callers of a stack.
const omittedName = "(folded samples)"

// isProfile recognizes profile.proto: fields of a profile, whose small numbers no text contains.
func isProfile(head []byte) bool {
	return profile.Sniff(head) && bytes.ContainsFunc(head, func(r rune) bool { return r < '\t' })
}

// decodeProfile reads a pprof profile as decode reads a text.
func (d *Decoder) decodeProfile(r io.Reader, path string) (*Snapshot, error) {
	d.begin(path)
	size := &counter{r: r}
	d.profile.decoder.Check = d.Check
	p, err := d.profile.decoder.Read(size)
	if err != nil {
		return nil, profileError(path, err)
	}
	s := d.snap
	s.Size = size.n
	s.Format, s.Producer, s.HasAlloc, s.NoObjects = FormatPprof, p.Producer, p.HasAlloc, !p.HasObjects
	if p.Goroutines {
		s.Format = FormatGoroutines
	}
	s.Period, s.PeriodAssumed, s.Recorded = p.Period, p.PeriodAssumed, p.Time
	s.Samples = slices.Grow(s.Samples, min(p.Samples(), maxGrown))
	unnamed := d.locations(p)
	if err := p.Rows(d.profileRow); err != nil {
		return nil, profileError(path, err)
	}
	s.DepthLimit, s.Completeness.AtDepthLimit = p.DepthLimit()
	s.HasTotal = s.Total != Counts{}
	s.Total = s.Total.Add(s.Completeness.Rows)
	d.finish()
	if unnamed && len(s.Mappings) == 0 {
		d.warn.add(WarnNoMappings, 0, "no mappings: addresses without names cannot be named")
		s.Warnings = d.warn.list
	}
	return s, nil
}

// maxGrown bounds the memory for rows that is allocated at once: most of them may be of few stacks.
const maxGrown = 1 << 17

// profileError returns the error of a profile in terms of its file.
func profileError(path string, err error) error {
	var refused *profile.RefusedError
	switch {
	case errors.As(err, &refused):
		return &FormatError{File: path, Kind: refused.Kind, Hint: refused.Hint}
	case endsEarly(err):
		return &SyntaxError{File: path, Msg: "the compressed profile ends early: it is still being written or was truncated", Err: err}
	}
	return &SyntaxError{File: path, Msg: "damaged pprof profile", Err: err}
}

// locations sets the mappings and symbols of the snapshot, and reports whether a location has no
// name.
func (d *Decoder) locations(p *profile.Profile) (unnamed bool) {
	s, r := d.snap, &d.profile
	maps := p.Mappings()
	for _, m := range maps {
		if m.Limit > m.Start && len(s.Mappings) < maxMappings {
			s.Mappings = append(s.Mappings, Mapping{
				Start: Addr(m.Start), Limit: Addr(m.Limit), Offset: Addr(m.Offset),
				Path: m.Path, BuildID: m.BuildID, Virtual: m.Virtual,
			})
		}
	}
	if r.frames == nil {
		r.frames = map[Addr][]FrameName{}
	}
	r.addrs, r.omitted, r.hidden = r.addrs[:0], 0, Counts{}
	p.Locations(func(i int, l profile.Location) {
		addr := Addr(l.Address)
		r.addrs = append(r.addrs, addr)
		if !l.Named {
			unnamed = true
			return
		}
		frames, ok := r.frames[addr]
		if !ok {
			for _, f := range p.Frames(i) {
				frames = append(frames, FrameName(f))
			}
			r.frames[addr] = frames
		}
		if len(frames) == 1 && frames[0].Function == omittedName {
			r.omitted = addr
		}
		symbol := Symbol{Addr: addr, Frames: frames, MadeUp: true}
		if l.Mapping >= 0 {
			symbol.Path, symbol.BuildID = maps[l.Mapping].Path, maps[l.Mapping].BuildID
		}
		s.Symbols = append(s.Symbols, symbol)
	})
	return unnamed
}

// profileRow adds a sample of a profile.
func (d *Decoder) profileRow(stack []uint32, c profile.Counts) error {
	if n := len(stack); n > 0 && d.profile.omitted != 0 && d.profile.addrs[stack[n-1]] == d.profile.omitted {
		if n == 1 { // any stack: the rows lack it
			d.snap.Total = d.snap.Total.Add(Counts(c))
			return nil
		}
		stack = stack[:n-1]
		d.profile.hidden = d.profile.hidden.Add(Counts(c))
	}
	d.scratch = d.scratch[:0]
	for _, l := range stack {
		d.scratch = append(d.scratch, d.profile.addrs[l])
	}
	id := d.intern()
	d.add(Sample{Stack: StackID(id), Counts: Counts(c)})
	if d.noRoom != nil {
		return d.noRoom
	}
	if d.full {
		return errors.New("it has more samples than any program writes")
	}
	return nil
}
