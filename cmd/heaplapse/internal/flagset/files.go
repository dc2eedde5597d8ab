package flagset

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Files has the flags that tell where files with names are.
type Files struct {
	binary, sysroot     string
	debugDirs, perfMaps []string
	Debuginfod
	Cache
}

// Define adds the flags, except --no-cache, to a set.
func (f *Files) Define(flags *pflag.FlagSet) {
	flags.Var(existing(&f.binary, "the program"), "binary", "the `FILE` of the main program, if it has moved since it ran")
	root := existing(&f.sysroot, "a directory with programs and libraries")
	flags.Var(root, "sysroot", "look for programs and libraries below `DIR` only")
	defineDebugDirs(flags, &f.debugDirs)
	f.Debuginfod.Define(flags)
	flags.StringArrayVar(&f.perfMaps, "perf-map", nil, "names of generated code: a perf map or jitdump `FILE` (repeatable; default: perf-PID.map and jit-PID.dump next to the snapshots or in /tmp)")
}

// Add adds the flags and --no-cache.
func (f *Files) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Files, func(flags *pflag.FlagSet) {
		f.Define(flags)
		f.Cache.Define(flags)
	})
}

// DebugFiles has the flags that tell where debug information is, for commands without snapshots.
type DebugFiles struct {
	dirs []string
	Debuginfod
	Cache
}

// Add adds the flags.
func (f *DebugFiles) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Files, func(flags *pflag.FlagSet) {
		defineDebugDirs(flags, &f.dirs)
		f.Debuginfod.Define(flags)
		f.Cache.Define(flags)
	})
}

// Options returns where debug information is, and how names are shown.
func (f *DebugFiles) Options(demangle string) (symbolize.Options, error) {
	client, err := f.Client()
	return symbolize.Options{
		DebugDirs: f.dirs, Debuginfod: client, Demangle: DemangleMode(demangle), CacheDir: f.Dir(),
	}, err
}

// defineDebugDirs adds --debug-dir to a set.
func defineDebugDirs(flags *pflag.FlagSet, dirs *[]string) {
	flags.Var(
		eachExisting{dirs, "a directory with debug files, or of such a file"},
		"debug-dir",
		"look for debug information in `DIR`, by build ID: .build-id/ab/cdef.debug, or a debug or unstripped file of any name; or such a FILE itself (repeatable; then in /usr/lib/debug)",
	)
}

// Debuginfod has the flag that names the servers that debug information is downloaded from.
type Debuginfod struct{ servers []string }

// Define adds the flag to a set.
func (f *Debuginfod) Define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.servers, "debuginfod", nil,
		"download missing files, by build ID, from the server at `URL` (repeatable; env: the servers in DEBUGINFOD_URLS; default: none)")
}

// Client returns a client of the servers.
func (f *Debuginfod) Client() (*symbolize.Debuginfod, error) {
	client, err := symbolize.NewDebuginfod(f.servers, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--debuginfod: %w", err)
	}
	return client, nil
}

// Cache has the flag that turns off the cache of names.
type Cache struct{ none bool }

// Define adds the flag to a set.
func (f *Cache) Define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.none, "no-cache", false, "do not use the cache of names (heaplapse/symbols in the user's cache directory)")
}

// Dir returns the directory of the cache, and "" if there is none.
func (f *Cache) Dir() string {
	base, err := os.UserCacheDir()
	if f.none || err != nil {
		return ""
	}
	return filepath.Join(base, "heaplapse", "symbols")
}

// Base has the flags that tell where files of the base are, if they are elsewhere.
type Base struct{ Binary, Sysroot string }

// Add adds the flags. base names the snapshots in the help.
func (f *Base) Add(cmd *cobra.Command, base string) {
	help.Group(cmd, help.Files, func(flags *pflag.FlagSet) {
		program, root := existing(&f.Binary, "the program"), existing(&f.Sysroot, "a directory with programs and libraries")
		flags.Var(program, "base-binary", "like --binary, for "+base+" (default: the `FILE` of --binary)")
		flags.Var(root, "base-sysroot", "like --sysroot, for "+base+" (default: the `DIR` of --sysroot)")
	})
}

// Of returns how the base is read and named, given that of the current snapshots.
func (f *Base) Of(current pipeline.Source) pipeline.Source {
	current.Symbols.Binary = cmp.Or(f.Binary, current.Symbols.Binary)
	current.Symbols.Sysroot = cmp.Or(f.Sysroot, current.Symbols.Sysroot)
	return current
}
