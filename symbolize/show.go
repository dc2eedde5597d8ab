package symbolize

import (
	"runtime"

	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// Demangle selects how C++ and Rust names are shown.
type Demangle = names.Mode

// Modes of demangling. Names have one full form, that of llvm-symbolizer.
const (
	DemangleSimple = names.Simple // without parameters and clone suffixes, but with template arguments
	DemangleFull   = names.Full   // with parameters and clone suffixes
	DemangleNone   = names.None   // the linkage name
)

// SimpleName returns the name that [DemangleSimple] shows of a function, from a name that another tool
// has demangled with parameters.
func SimpleName(demangled string) string { return names.Simplify(demangled) }

// nameTable sets the display names of frames. It demangles names while other addresses are looked
// up.
type nameTable struct{ table *names.Table }

// newNameTable starts a table. The caller calls finish.
func newNameTable(o Options) nameTable {
	return nameTable{names.NewTable(o.Demangle, runtime.GOMAXPROCS(0))}
}

// add starts to demangle the names of the frames at an address. It omits the outermost function,
// because nameBySymbol may still change its linkage name. It also makes equal file names share
// memory. Several goroutines may call it.
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

// finish sets the names of all frames and hints. The table must not be used after that.
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
