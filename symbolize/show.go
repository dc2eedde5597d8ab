package symbolize

import (
	"runtime"
	"sync"
)

// shower turns linkage names into names for people, each once: demangling takes longer than all
// else. Workers are at it while addresses are still looked up.
type shower struct {
	mode  Demangle
	queue chan []*shownName
	wg    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	names map[string]*shownName
	files map[string]string
	batch []*shownName
}

type shownName struct{ linkage, shown string }

// showBatch is the number of names that are handed to a worker at once.
const showBatch = 64

// newShower starts workers; finish ends them.
func newShower(o Options) *shower {
	s := &shower{mode: o.Demangle, names: map[string]*shownName{}, files: map[string]string{}, queue: make(chan []*shownName, 16)}
	for range runtime.GOMAXPROCS(0) {
		s.wg.Go(s.work)
	}
	return s
}

// work shows names until there are no more.
func (s *shower) work() {
	var d demangler
	for batch := range s.queue {
		for _, n := range batch {
			n.shown = d.name(n.linkage, s.mode)
		}
	}
}

// add asks for the names of an address's frames, and has equal strings stand in memory once. The outermost function
// may yet get another name from the symbol table.
func (s *shower) add(frames []Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range frames {
		f := &frames[i]
		if known, ok := s.files[f.File]; ok {
			f.File = known
		} else {
			s.files[f.File] = f.File
		}
		if f.Linkage != "" {
			f.Function = "" // the linkage name will give it
		}
		if i+1 < len(frames) {
			s.askFor(f)
		}
	}
}

// askFor has a frame's name shown. Linkage names that are equal are kept once.
func (s *shower) askFor(f *Frame) {
	if f.Linkage != "" && f.asked == nil {
		f.asked = s.ask(f.Linkage)
		f.Linkage = f.asked.linkage
	}
}

// ask has a name shown.
func (s *shower) ask(linkage string) *shownName {
	if n := s.names[linkage]; n != nil {
		return n
	}
	n := &shownName{linkage: linkage}
	s.names[linkage] = n
	if s.batch = append(s.batch, n); len(s.batch) == showBatch {
		s.queue <- s.batch
		s.batch = nil
	}
	return n
}

// finish gives every frame, and every hint, its name. The shower is done then.
func (s *shower) finish(locations []Location) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range locations {
		l := &locations[i]
		if l.shown {
			continue
		}
		if l.Near != "" {
			s.ask(l.Near)
		}
		for k := range l.Frames {
			s.askFor(&l.Frames[k])
		}
	}
	s.queue <- s.batch
	close(s.queue)
	s.wg.Wait()
	for i := range locations {
		s.show(&locations[i])
	}
}

func (s *shower) show(l *Location) {
	if l.shown {
		return
	}
	l.shown = true
	if l.Near != "" {
		l.Near = s.names[l.Near].shown
	}
	for k := range l.Frames {
		if f := &l.Frames[k]; f.asked != nil {
			f.Function, f.asked = f.asked.shown, nil
		}
	}
}
