package symbolize

import (
	"cmp"
	"runtime"

	"github.com/heaplapse/heaplapse/symbolize/internal/debuginfod"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// Options are where files are and how names are shown. The zero value works on the machine that was recorded.
type Options struct {
	// Binary is the file of the main program, "" if it is where it was mapped from.
	Binary string
	// Sysroot precedes every path. Files outside it are not used: this machine may have other builds at the same paths.
	Sysroot string
	// DebugDirs hold separate debug files; nil means /usr/lib/debug below Sysroot.
	DebugDirs []string
	// PerfMaps are the perf maps and jitdumps of just-in-time compilers. nil means perf-PID.map and jit-PID.dump beside
	// the snapshots, in /tmp, or in the working directory of the process if it still runs.
	PerfMaps []string
	// Debuginfod downloads files that this machine lacks; nil downloads none.
	Debuginfod *Debuginfod
	Demangle   Demangle
	// CacheDir is a directory that keeps answers from run to run, created if necessary; "" keeps none.
	CacheDir string
	// Files, if not nil, has the files in place of this machine: see package bundle. CacheDir must then be "".
	Files files.Source
	// Workers limits the modules, and the units of a module, that are searched at once; 0 means one per CPU.
	Workers int
}

// source returns where files come from; vdso is the kept image of [vdso].
func (o *Options) source(vdso string) files.Source {
	if o.Files != nil {
		return o.Files
	}
	return files.Host{VDSO: vdso, Debuginfod: o.Debuginfod}
}

// Debuginfod is a client of debuginfod servers. It is safe for concurrent use.
type Debuginfod = debuginfod.Client

// NewDebuginfod returns a client of servers, with the settings of the DEBUGINFOD_ environment variables. Each word is a
// URL, several URLs separated by blanks, or "env", which stands for those in DEBUGINFOD_URLS. Without a server it returns
// nil, which downloads nothing.
func NewDebuginfod(words []string, getenv func(string) string) (*Debuginfod, error) {
	return debuginfod.New(words, getenv)
}

// resolver names addresses of modules. The modules of one call of Resolve share it.
type resolver struct {
	search   files.Search
	style    style
	workers  int
	demangle Demangle
	cacheDir string
	names    nameTable
}

func newResolver(o Options, source files.Source, s style) *resolver {
	return &resolver{
		search:   files.Search{Source: source, Binary: o.Binary, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs},
		style:    s,
		workers:  cmp.Or(o.Workers, runtime.GOMAXPROCS(0)),
		demangle: o.Demangle,
		cacheDir: o.CacheDir,
		names:    newNameTable(o),
	}
}
