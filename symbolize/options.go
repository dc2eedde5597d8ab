package symbolize

import (
	"cmp"
	"runtime"

	"github.com/heaplapse/heaplapse/symbolize/internal/debuginfod"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// Options locate files and determine how names are shown. The zero value is right on the machine
// that was recorded.
type Options struct {
	// Binary is the file of the main program, or "" if it is at the path that was mapped.
	Binary string
	// Sysroot is prepended to every path. Files outside of it are not used, because this machine
	// may have other builds at the same paths.
	Sysroot string
	// DebugDirs has directories of separate debug files, or such files. They precede /usr/lib/debug
	// below Sysroot.
	DebugDirs []string
	// PerfMaps has the perf maps and jitdumps of just-in-time compilers; nil means perf-PID.map and
	// jit-PID.dump in the directory of the snapshots, in /tmp, or in the working directory of the
	// process if it is still running.
	PerfMaps []string
	// Frames has the frames files of heaplapse's engine, which name the functions of scripts; nil
	// means those that the process wrote next to the snapshots.
	Frames []string
	// Debuginfod downloads files that are not on this machine; nil means no downloads.
	Debuginfod *Debuginfod
	Demangle   Demangle
	// CacheDir is a directory that keeps answers from run to run, and is created if necessary; ""
	// means no cache.
	CacheDir string
	// Files, if not nil, has all files, and this machine's files are not used: see package bundle.
	// CacheDir must then be "".
	Files files.Source
	// Workers is the maximum number of modules, and of units of a module, that are searched
	// concurrently; 0 means one per CPU.
	Workers int
}

// source returns the source of files. vdso is the path of the recorded image of [vdso].
func (o *Options) source(vdso string) files.Source {
	if o.Files != nil {
		return o.Files
	}
	return files.Host{VDSO: vdso, Debuginfod: o.Debuginfod}
}

// Debuginfod is a client of debuginfod servers. It is safe for concurrent use.
type Debuginfod = debuginfod.Client

// NewDebuginfod returns a client of servers, with the settings of the DEBUGINFOD_ environment
// variables. Each word is a URL, several URLs separated by blanks, or "env" for the URLs in
// DEBUGINFOD_URLS. Without a server, NewDebuginfod returns nil, which downloads nothing.
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
