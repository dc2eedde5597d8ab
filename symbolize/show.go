package symbolize

import (
	"runtime"

	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// Demangle selects what is shown of a C++ or Rust name.
type Demangle = names.Mode

// The ways to show names. A name has one full form, that of llvm-symbolizer.
const (
	DemangleSimple = names.Simple // no parameters and clone suffixes; template arguments are kept
	DemangleFull   = names.Full   // everything
	DemangleNone   = names.None   // the linkage name
)

// nameTable gives frames their names for display. It demangles names while further addresses are
// looked up.
type nameTable struct{ table *names.Table }

// newNameTable starts a table; finish ends it.
func newNameTable(o Options) nameTable {
	return nameTable{names.NewTable(o.Demangle, runtime.GOMAXPROCS(0))}
}

// add starts to demangle the names of an address's frames. It leaves out the outermost function,
// whose linkage name may still change to that of the symbol table. It also makes equal file names
// share memory. It can be called by several goroutines at once.
func (t nameTable) add(frames []Frame) {
	for i := range frames {
		f := &frames[i]
		f.File = t.table.Intern(f.File)
		if f.Linkage != "" {
			f.Function = "" // finish derives it from Linkage
		}
		if i+1 < len(frames) {
			t.demangle(f)
		}
	}
}

// demangle starts to demangle the name of a frame. Equal linkage names share memory.
func (t nameTable) demangle(f *Frame) {
	if f.Linkage != "" && f.name == nil {
		f.name = t.table.Add(f.Linkage)
		f.Linkage = f.name.Linkage
	}
}

// finish sets the names of all frames and hints. The table must not be used afterwards.
func (t nameTable) finish(locations []Location) {
	near := make(map[*Location]*names.Entry)
	for i := range locations {
		l := &locations[i]
		if l.shown {
			continue
		}
		if l.Near != "" {
			near[l] = t.table.Add(l.Near)
		}
		for k := range l.Frames {
			t.demangle(&l.Frames[k])
		}
	}
	t.table.Wait()
	for i := range locations {
		l := &locations[i]
		if e := near[l]; e != nil {
			l.Near = e.Name
		}
		l.show()
	}
}

// show sets the functions of the frames from the demangled names.
func (l *Location) show() {
	l.shown = true
	for k := range l.Frames {
		if f := &l.Frames[k]; f.name != nil {
			f.Function, f.name = f.name.Name, nil
		}
	}
}
