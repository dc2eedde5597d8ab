package pipeline

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Holders are what was seen of what holds the blocks of each site. Holders of several call paths may be equal until Of
// merges them.
type Holders map[symbolize.SiteID]HeldSite

// HeldSite is what was seen of a site: its live samples, and those of them from the first half of
// the recording.
type HeldSite struct {
	Live int `json:"live"`
	Old  int `json:"old"`
	answer.Held
}

// Add adds what was seen of one call path of a site.
func (h Holders) Add(site symbolize.SiteID, a *answer.Site) {
	seen := h[site]
	seen.add(HeldSite{a.Live, a.Old, a.Held})
	h[site] = seen
}

// Of returns what was seen of some sites together.
func (h Holders) Of(members []symbolize.SiteID) (seen HeldSite) {
	for _, m := range members {
		seen.add(h[m])
	}
	seen.By = answer.Merge(seen.By)
	seen.All = seen.Looked > 0 && seen.Looked == seen.Live
	return seen
}

// add adds up two parts. The holders are merged by Of, once: there may be thousands of call paths.
func (s *HeldSite) add(part HeldSite) {
	s.Live, s.Old, s.Looked = s.Live+part.Live, s.Old+part.Old, s.Looked+part.Looked
	s.By = append(s.By, part.By...)
}

// maxImages is the number of process images of which there may be looks.
const maxImages = 16

// seen is what the recorder saw when it looked at processes last.
type seen struct {
	sites    Holders
	resident *rss.Result
	// refused is why it did not look, if it never did.
	refused string
	time    time.Time
}

// holders returns what the recorder saw of what holds the blocks of each site, in the newest look at each process
// image, and of where the resident memory of the last one is.
func (p *Pipeline) holders(in *Input) (s seen) {
	byStack := map[string]*answer.Site{}
	for image := range maxImages {
		look := p.newestLook(in, image)
		if look == nil {
			continue
		}
		for i := range look.Sites {
			byStack[stackKey(look.Sites[i].Stack)] = &look.Sites[i]
		}
		if r := (&rss.Result{}); len(look.Resident) > 0 && json.Unmarshal(look.Resident, r) == nil && r.Schema == rss.Schema {
			s.resident = r
		}
		s.refused, s.time = look.Refused, look.Time
	}
	s.sites = in.holders(byStack)
	return s
}

// holders returns what was seen of each site; nil if that is nothing. The key of a call path is that of stackKey.
func (in *Input) holders(byStack map[string]*answer.Site) Holders {
	if len(byStack) == 0 {
		return nil
	}
	h := Holders{}
	for id := range in.Stacks.Len() {
		id := heapfile.StackID(id)
		if site, ok := byStack[stackKey(in.Stacks.Addrs(id))]; ok {
			h.Add(in.Symbols.Site(id), site)
		}
	}
	return h
}

// Seen names the sites of a look at a process that is being recorded: those that its snapshots have by now. The caller
// closes the input.
func (p *Pipeline) Seen(ctx context.Context, dir string, look *answer.Look, o *Source) (*Input, Holders, error) {
	in, err := p.Open([]string{dir}, o, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := p.Name(ctx, in, o); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	byStack := map[string]*answer.Site{}
	for i := range look.Sites {
		byStack[stackKey(look.Sites[i].Stack)] = &look.Sites[i]
	}
	return in, in.holders(byStack), nil
}

// newestLook returns the newest look at a process image, or nil. A file that cannot be used is reported.
func (p *Pipeline) newestLook(in *Input, image int) *answer.Look {
	file, path, err := in.OpenBeside(image, manifest.HoldersSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var looks []*answer.Look
	if err == nil {
		looks, err = answer.Read(file, path)
		_ = file.Close()
	}
	if err != nil {
		p.Tell(Notice{Kind: UnusableFile, Subject: path, Text: err.Error()})
	}
	if len(looks) == 0 {
		return nil
	}
	return looks[len(looks)-1]
}

// stackKey is equal for equal call paths.
func stackKey[A ~uint64](stack []A) string {
	var key []byte
	for _, a := range stack {
		key = binary.LittleEndian.AppendUint64(key, uint64(a))
	}
	return string(key)
}
