package flagset

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Manglings is --demangle.
var Manglings = NewChoice("demangle", "simple", "full", "none")

// Symbols has the flags that tell how addresses are named.
type Symbols struct {
	Files
	Demangle string
}

// Add adds the flags. Those that tell where files are come last in the help.
func (f *Symbols) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) { DefineDemangle(flags, &f.Demangle, "simple") })
	Manglings.Complete(cmd)
	f.Files.Add(cmd)
}

// DefineDemangle adds --demangle, with a default, to a set.
func DefineDemangle(flags *pflag.FlagSet, mode *string, standard string) {
	Manglings.Var(flags, mode, standard, "C++ and Rust names in this `STYLE`: simple (without parameters), full or none")
}

// DemangleMode returns the mode that --demangle names. The default of commands without the flag is
// "".
func DemangleMode(name string) symbolize.Demangle {
	return map[string]symbolize.Demangle{
		"":       symbolize.DemangleSimple,
		"simple": symbolize.DemangleSimple,
		"full":   symbolize.DemangleFull,
		"none":   symbolize.DemangleNone,
	}[name]
}

// options returns how addresses are named.
func (f *Symbols) options() (symbolize.Options, error) {
	client, err := f.Client()
	return symbolize.Options{
		Binary: f.binary, Sysroot: f.sysroot, DebugDirs: f.debugDirs, PerfMaps: f.perfMaps, Debuginfod: client,
		Demangle: DemangleMode(f.Demangle), CacheDir: f.Dir(),
	}, err
}
