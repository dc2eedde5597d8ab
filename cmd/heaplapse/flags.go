package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/internal/memory"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// choice is a flag whose value is one of a few words.
type choice struct {
	flag   string
	values []string
}

var (
	sampleTypes = choice{"sample", []string{string(convert.InuseSpace), string(convert.InuseObjects), string(convert.AllocSpace), string(convert.AllocObjects)}}
	groupings   = choice{"group-by", []string{"function", "stack", "file", "module"}}
	manglings   = choice{"demangle", []string{"simple", "full", "none"}}
	failLabels  = choice{"fail-on", []string{"leak", "suspect"}}
)

// String lists the words: a, b or c.
func (c choice) String() string {
	last := len(c.values) - 1
	return strings.Join(c.values[:last], ", ") + " or " + c.values[last]
}

// check returns an error for another word.
func (c choice) check(value string) error {
	if slices.Contains(c.values, value) {
		return nil
	}
	return fmt.Errorf("--%s %s: want %s", c.flag, value, c)
}

// complete makes the shell complete the words.
func (c choice) complete(cmd *cobra.Command) {
	complete := cobra.FixedCompletions(c.values, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(c.flag, complete) // fails only for an unknown flag
}

// seriesFlags choose the snapshots.
type seriesFlags struct {
	process string
	readFlags
}

func (f *seriesFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.process, "process", "", "if there are several processes, read the one with this `PID` or prefix (default: the recorded program, or the one with the largest heap)")
	f.readFlags.define(flags)
}

// source returns how snapshots are read and named.
func (f *seriesFlags) source(symbols symbolize.Options) (*pipeline.Source, error) {
	o, err := f.readFlags.source(symbols)
	o.Process = f.process
	return o, err
}

// readFlags tell when snapshots are not used.
type readFlags struct {
	strict    bool
	maxMemory string
}

func (f *readFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.strict, "strict", false, "exit with status 2 if anything in the input is suspect")
	flags.StringVar(&f.maxMemory, "max-memory", "", "give up if reading snapshots takes more than `SIZE` of memory (default: half of that of the machine or the control group)")
}

// source returns how snapshots are read and named.
func (f *readFlags) source(symbols symbolize.Options) (*pipeline.Source, error) {
	check, err := f.memoryCheck()
	return &pipeline.Source{Strict: f.strict, Check: check, Symbols: symbols}, err
}

// memoryCheck returns a function that checks the limit of memory, or nil if there is none.
func (f *readFlags) memoryCheck() (func() error, error) {
	limit := memory.Available() / 2
	if f.maxMemory != "" {
		var err error
		if limit, err = units.ParseBytes(f.maxMemory); err != nil {
			return nil, fmt.Errorf("--max-memory: %w", err)
		}
	}
	if limit == 0 {
		return nil, nil
	}
	l := memory.NewLimit(limit)
	return func() error {
		err := l.Check()
		if err != nil {
			err = fmt.Errorf("%w; a larger --max-memory may help, if the file is genuine", err)
		}
		return err
	}, nil
}

// fileFlags tell where files with names are.
type fileFlags struct {
	binary, sysroot     string
	debugDirs, perfMaps []string
	debuginfodFlag
	cacheFlag
}

func (f *fileFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.binary, "binary", "", "the `FILE` of the main program, if it has moved since it ran")
	flags.StringVar(&f.sysroot, "sysroot", "", "look for programs and libraries below `DIR` only")
	defineDebugDirs(flags, &f.debugDirs)
	f.debuginfodFlag.define(flags)
	flags.StringArrayVar(&f.perfMaps, "perf-map", nil, "names of generated code: a perf map or jitdump `FILE` (repeatable; default: perf-PID.map and jit-PID.dump next to the snapshots or in /tmp)")
}

// add adds the flags and --no-cache.
func (f *fileFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Files, func(flags *pflag.FlagSet) {
		f.define(flags)
		f.cacheFlag.define(flags)
	})
}

func defineDebugDirs(flags *pflag.FlagSet, dirs *[]string) {
	flags.StringArrayVar(
		dirs,
		"debug-dir",
		nil,
		"look for separate debug information in `DIR` (repeatable; default: /usr/lib/debug)",
	)
}

// debuginfodFlag names the servers that debug information is downloaded from.
type debuginfodFlag struct{ servers []string }

func (f *debuginfodFlag) define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.servers, "debuginfod", nil,
		"download missing files, by build ID, from the server at `URL` (repeatable; env: the servers in DEBUGINFOD_URLS; default: none)")
}

func (f *debuginfodFlag) client() (*symbolize.Debuginfod, error) {
	client, err := symbolize.NewDebuginfod(f.servers, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--debuginfod: %w", err)
	}
	return client, nil
}

// cacheFlag turns off the cache of names.
type cacheFlag struct{ none bool }

func (f *cacheFlag) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.none, "no-cache", false, "do not use the cache of names (heaplapse/symbols in the user's cache directory)")
}

// dir returns the directory of the cache, and "" if there is none.
func (f *cacheFlag) dir() string {
	base, err := os.UserCacheDir()
	if f.none || err != nil {
		return ""
	}
	return filepath.Join(base, "heaplapse", "symbols")
}

// symbolFlags tell how addresses are named.
type symbolFlags struct {
	fileFlags
	demangle string
}

// add adds the flags. Those that tell where files are come last in the help.
func (f *symbolFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) { defineDemangle(flags, &f.demangle, "simple") })
	manglings.complete(cmd)
	f.fileFlags.add(cmd)
}

func defineDemangle(flags *pflag.FlagSet, mode *string, standard string) {
	flags.StringVar(
		mode,
		"demangle",
		standard,
		"C++ and Rust names in this `STYLE`: simple (without parameters), full or none",
	)
}

// demangleMode returns the mode that --demangle names. The default of commands without the flag is
// "".
func demangleMode(name string) (symbolize.Demangle, error) {
	if name == "" {
		return symbolize.DemangleSimple, nil
	}
	modes := map[string]symbolize.Demangle{
		"simple": symbolize.DemangleSimple,
		"full":   symbolize.DemangleFull,
		"none":   symbolize.DemangleNone,
	}
	return modes[name], manglings.check(name)
}

func (f *symbolFlags) options() (symbolize.Options, error) {
	mode, err := demangleMode(f.demangle)
	if err != nil {
		return symbolize.Options{}, err
	}
	client, err := f.client()
	return symbolize.Options{
		Binary: f.binary, Sysroot: f.sysroot, DebugDirs: f.debugDirs, PerfMaps: f.perfMaps, Debuginfod: client,
		Demangle: mode, CacheDir: f.dir(),
	}, err
}

// baseFlags tell where files of the base are, if they are elsewhere.
type baseFlags struct{ baseBinary, baseSysroot string }

func (f *baseFlags) add(cmd *cobra.Command, base string) {
	help.Group(cmd, help.Files, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.baseBinary, "base-binary", "", "like --binary, for "+base+" (default: the `FILE` of --binary)")
		flags.StringVar(&f.baseSysroot, "base-sysroot", "", "like --sysroot, for "+base+" (default: the `DIR` of --sysroot)")
	})
}

// of returns how the base is read and named, given that of the current snapshots.
func (f *baseFlags) of(current pipeline.Source) pipeline.Source {
	current.Symbols.Binary = cmp.Or(f.baseBinary, current.Symbols.Binary)
	current.Symbols.Sysroot = cmp.Or(f.baseSysroot, current.Symbols.Sysroot)
	return current
}

// filterFlags select call paths.
type filterFlags struct{ focus, ignore string }

func (f *filterFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.focus, "focus", "", "keep only stacks with a function, file or module that matches `REGEXP`")
	flags.StringVar(&f.ignore, "ignore", "", "drop stacks with a function, file or module that matches `REGEXP`")
}

func compile(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return re, nil
}

// stackFlags are the flags of commands that read stacks: which snapshots, names and stacks.
type stackFlags struct {
	seriesFlags
	symbolFlags
	filterFlags
}

func (f *stackFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		f.seriesFlags.define(flags)
		f.filterFlags.define(flags)
	})
	f.symbolFlags.add(cmd)
}

// source returns how snapshots are read and named, and which stacks count.
func (f *stackFlags) source() (*pipeline.Source, error) {
	symbols, err := f.options()
	if err != nil {
		return nil, err
	}
	o, err := f.seriesFlags.source(symbols)
	if err != nil {
		return nil, err
	}
	if o.Focus, err = compile("--focus", f.focus); err != nil {
		return nil, err
	}
	o.Ignore, err = compile("--ignore", f.ignore)
	return o, err
}

// groupFlags tell what one site is, and which function an allocation is attributed to.
type groupFlags struct{ by, rules string }

func (f *groupFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.by, "group-by", string(sites.ByFunction), "group allocations by `SITE`: "+groupings.String())
		f.defineRules(flags)
	})
	groupings.complete(cmd)
}

func (f *groupFlags) defineRules(flags *pflag.FlagSet) {
	flags.StringVar(&f.rules, "blame-rules", "", "a `FILE` of rules that decide which frames allocations are attributed to; they precede the built-in rules")
}

func (f *groupFlags) groupBy() (sites.GroupBy, error) {
	return sites.GroupBy(f.by), groupings.check(f.by)
}

// blameRules returns the rules of the user's file followed by the built-in ones, or nil for the
// built-in ones alone.
func (f *groupFlags) blameRules() (*class.Rules, error) {
	if f.rules == "" {
		return nil, nil
	}
	rules, err := class.ReadRules(f.rules)
	if err != nil {
		return nil, fmt.Errorf("--blame-rules: %w", err)
	}
	return rules.Before(class.DefaultRules()), nil
}
