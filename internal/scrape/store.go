package scrape

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/request"
)

// store is the directory of the snapshots. It is created with the first one, so that a service that
// cannot be scraped leaves nothing. It is safe for concurrent use.
type store struct {
	*Options
	services []*service

	mu       sync.Mutex
	dir      string
	unnamed  string           // the default name, without a number, if the user gave none
	out      *manifest.Writer // nil until there is a snapshot
	kept     map[string][]snapshot
	seq      map[string]int // by prefix: the number of the last file
	problems []string       // each once
}

// snapshot is a file of the store.
type snapshot struct {
	name, base string // with and without the suffix of its compression
	time       time.Time
}

func newStore(o *Options, services []*service) (*store, error) {
	s := &store{
		Options: o, services: services, dir: o.Dir, kept: map[string][]snapshot{}, seq: map[string]int{},
	}
	if s.dir == "" {
		s.unnamed = outdir.Default(outdir.Name(services[0].url.Host, "service"))
		s.dir = outdir.Fresh(s.unnamed)
	}
	if outdir.HasRecording(s.dir) {
		return nil, fmt.Errorf("%s already holds a recording: choose another directory with %s", s.dir, option.Output)
	}
	return s, nil
}

// add keeps a profile as the next snapshot of a prefix.
func (s *store) add(prefix string, f *fetched, image int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		if err := s.create(); err != nil {
			return err
		}
		defer s.removeIfEmpty()
	}
	base := fmt.Sprintf("%s.%04d%s", prefix, s.seq[prefix]+1, suffix(f))
	file := snapshot{base + f.compressed, base, f.at}
	if f.compressed == "" {
		file.name += ".gz"
	}
	if err := s.write(file.name, f); err != nil {
		return err
	}
	if len(s.kept) == 0 && s.Began != nil {
		s.Began(s.dir)
	}
	s.seq[prefix]++
	s.kept[prefix] = append(s.kept[prefix], file)
	s.problem(s.out.Snapshot(manifest.Snapshot{File: base, Time: f.at.UTC(), Image: image, Trigger: "time"}))
	s.thin(prefix)
	return nil
}

// removeIfEmpty removes what create made if the first snapshot could not be written.
func (s *store) removeIfEmpty() {
	if len(s.kept) == 0 {
		_ = s.out.Close()
		s.out = nil
		s.remove()
	}
}

// remove removes what create makes.
func (s *store) remove() {
	_ = os.Remove(filepath.Join(s.dir, manifest.Name))
	_ = os.Remove(s.dir) // only if it is empty
}

// suffix returns the suffix of the name of a profile without that of its compression.
func suffix(f *fetched) string {
	if f.head.Format.Profile() {
		return ".pb"
	}
	return ".heap"
}

// create makes the directory and the manifest.
func (s *store) create() error {
	mkdir := os.MkdirAll
	if s.unnamed != "" {
		mkdir = os.Mkdir
	}
	err := mkdir(s.dir, 0o755)
	for s.unnamed != "" && errors.Is(err, os.ErrExist) { // another recording has taken the name
		s.dir = outdir.Fresh(s.unnamed)
		err = mkdir(s.dir, 0o755)
	}
	if err != nil {
		return err
	}
	out, err := manifest.Create(s.dir)
	if err != nil {
		if !errors.Is(err, os.ErrExist) { // otherwise it is that of another recording
			s.remove()
		}
		return err
	}
	host, _ := os.Hostname()
	var urls []string
	for _, service := range s.services {
		urls = append(urls, request.Display(service.url))
	}
	s.out = out
	s.problem(out.Recording(manifest.Recording{
		Started: time.Now().UTC(), Recorder: s.Recorder, Host: host, Command: []string{}, URLs: urls,
	}))
	return nil
}

// write writes the file of a snapshot, compressed.
func (s *store) write(name string, f *fetched) error {
	in, err := f.File(entry)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(s.dir, name), atomicfile.Options{Replace: true}, func(w io.Writer) error {
		if f.compressed != "" {
			_, err := io.Copy(w, in)
			return err
		}
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, in)
		return errors.Join(err, z.Close())
	})
}

// thin removes snapshots above the limit.
func (s *store) thin(prefix string) {
	for s.Keep > 0 && len(s.kept[prefix]) > s.Keep {
		list := s.kept[prefix]
		times := make([]time.Time, len(list))
		for i, file := range list {
			times[i] = file.time
		}
		i := outdir.MostRedundant(times)
		s.problem(s.out.Drop(manifest.Drop{File: list[i].base, Reason: manifest.DropThinned}))
		s.problem(os.Remove(filepath.Join(s.dir, list[i].name)))
		s.kept[prefix] = slices.Delete(list, i, i+1)
	}
}

// problem keeps an error, which may be nil, for the end of the recording. It reports whether the
// error is new.
func (s *store) problem(err error) bool {
	if err == nil || slices.Contains(s.problems, err.Error()) {
		return false
	}
	s.problems = append(s.problems, err.Error())
	return true
}

// failed keeps an error of add.
func (s *store) failed(err error) (isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem(err)
}

// note tells the user something.
func (s *store) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Note != nil {
		s.Note(fmt.Sprintf(format, args...))
	}
}

// gap adds a time without snapshots to the manifest.
func (s *store) gap(g manifest.Gap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		s.problem(s.out.Gap(g))
	}
}

// close writes the end of the recording, and returns what was recorded. The store is not used
// afterwards.
func (s *store) close() Outcome {
	o := Outcome{Dir: s.dir}
	if s.out == nil {
		return o
	}
	s.problem(s.out.End(manifest.End{Time: time.Now().UTC(), Error: strings.Join(s.problems, "; ")}))
	s.problem(s.out.Close())
	for prefix, list := range s.kept {
		if strings.HasSuffix(prefix, goroutines) {
			o.Goroutines += len(list)
		} else {
			o.Heaps += len(list)
		}
	}
	for _, service := range s.services {
		if service.profiles[0].taken > 0 {
			o.Services++
		}
	}
	o.Notes = s.problems
	return o
}
