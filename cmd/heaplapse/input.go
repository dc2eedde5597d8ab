package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// seriesFlags choose the snapshots.
type seriesFlags struct {
	process string
}

func (f *seriesFlags) add(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.process, "process", "", "of several processes in one directory, take the one with this `PID` or prefix")
	cmd.Flags().BoolVar(&a.strict, "strict", false, "exit with 2 if anything in the input is suspect")
}

// open reads the series and reports what is wrong with it.
func (f *seriesFlags) open(a *app, paths []string, visit func(*series.Snapshot) error) (*series.Series, error) {
	b, err := a.openBundle(paths)
	if err != nil {
		return nil, err
	}
	o := series.Options{Process: f.process, Stdin: a.in, Visit: visit}
	if b != nil {
		paths, o.Sources = nil, b.Sources()
	}
	bar := newProgress(a.err, "reading snapshots")
	o.Progress = bar.update
	s, err := series.Open(paths, o)
	bar.done()
	if err != nil {
		return nil, err
	}
	a.unpacked.belongs(s, b)
	a.report(s)
	return s, nil
}

// symbolFlags say where files are, and which stacks count.
type symbolFlags struct {
	binary, sysroot     string
	debugDirs, perfMaps []string
	demangle            string
	cacheFlag
	debuginfodFlag
}

// debuginfodFlag names servers that have debug files.
type debuginfodFlag struct{ servers []string }

func (f *debuginfodFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.servers, "debuginfod", nil,
		"fetch files that are not here, by build ID, from the server at `URL` (repeatable; env: those of DEBUGINFOD_URLS; default none)")
}

func (f *debuginfodFlag) client() (*symbolize.Debuginfod, error) {
	client, err := symbolize.NewDebuginfod(f.servers, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--debuginfod: %w", err)
	}
	return client, nil
}

// cacheFlag says whether answers are kept from run to run.
type cacheFlag struct{ none bool }

func (f *cacheFlag) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.none, "no-cache", false, "neither use nor write the cache of names (heaplapse/symbols in the user's cache directory)")
}

// dir is where the cache is, "" for none: also where the user has no cache directory.
func (f *cacheFlag) dir() string {
	base, err := os.UserCacheDir()
	if f.none || err != nil {
		return ""
	}
	return filepath.Join(base, "heaplapse", "symbols")
}

func (f *symbolFlags) add(cmd *cobra.Command) {
	f.cacheFlag.add(cmd)
	f.addPlaces(cmd)
	cmd.Flags().StringVar(&f.demangle, "demangle", "simple", "C++ and Rust names: simple (no parameters), full or none")
	_ = cmd.RegisterFlagCompletionFunc("demangle", cobra.FixedCompletions([]string{"simple", "full", "none"}, cobra.ShellCompDirectiveNoFileComp))
}

// addPlaces adds the flags that say where files are.
func (f *symbolFlags) addPlaces(cmd *cobra.Command) {
	f.debuginfodFlag.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.binary, "binary", "", "the main program's `FILE`, when it has moved")
	flags.StringVar(&f.sysroot, "sysroot", "", "look for mapped files below `DIR`, and nowhere else")
	flags.StringArrayVar(&f.debugDirs, "debug-dir", nil, "look for separate debug files in `DIR` (repeatable; default /usr/lib/debug)")
	flags.StringArrayVar(&f.perfMaps, "perf-map", nil, "names of generated code: a perf map or a jitdump (repeatable; default perf-PID.map and jit-PID.dump beside the snapshots or in /tmp)")
}

// demangleMode returns the mode that --demangle names. The default of commands without the flag is "".
func demangleMode(name string) (symbolize.Demangle, error) {
	switch name {
	case "", "simple":
		return symbolize.DemangleSimple, nil
	case "full":
		return symbolize.DemangleFull, nil
	case "none":
		return symbolize.DemangleNone, nil
	}
	return 0, fmt.Errorf("--demangle %s: want simple, full or none", name)
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

// resolve names the addresses and reports modules that could not be used.
func (f *symbolFlags) resolve(ctx context.Context, a *app, s *series.Series) (*symbolize.Symbols, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if b := a.unpacked.bySeries[s]; b != nil {
		a.warnPlaces(f)
		demangle := o.Demangle
		o = b.Options(s.Process)
		o.Demangle = demangle
	}
	ctx, stop := interruptible(ctx, o.Debuginfod)
	defer stop()
	symbols, err := symbolize.Resolve(ctx, s, o)
	if err != nil {
		return nil, orInterrupted(err)
	}
	a.warnSymbols(symbols)
	return symbols, nil
}

// interruptible returns a context that ends when a signal asks the program to end, so that an interrupted download leaves no
// temporary file. Without a client there is no download, and signals end the program at once.
func interruptible(ctx context.Context, client *symbolize.Debuginfod) (context.Context, context.CancelFunc) {
	if client == nil {
		return ctx, func() {}
	}
	signals := endingSignals()
	if len(signals) == 0 {
		return ctx, func() {}
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	return ctx, stop
}

// orInterrupted returns err, reworded if a context ended.
func orInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// warnPlaces says that a bundle has its own files.
func (a *app) warnPlaces(f *symbolFlags) {
	if f.binary != "" || f.sysroot != "" || f.debugDirs != nil || f.perfMaps != nil || f.servers != nil {
		a.warn("a bundle brings the files that names come from: --binary, --sysroot, --debug-dir, --perf-map and --debuginfod do not apply to it")
	}
}

// warnSymbols says what could not be used to find names.
func (a *app) warnSymbols(symbols *symbolize.Symbols) {
	for _, w := range symbols.Warnings {
		a.warn(w.Error())
	}
	a.warnModules(symbols)
}

// warnModules says which files are missing, in one line, and which do not fit, one line each.
func (a *app) warnModules(symbols *symbolize.Symbols) {
	var missing []string
	for i := range symbols.Modules {
		m := &symbols.Modules[i]
		switch {
		case m.Reason == symbolize.ReasonMissing:
			missing = append(missing, m.Path)
		case m.Err != nil:
			a.warn(m.Err.Error())
		case m.Suspect():
			a.warn(fmt.Sprintf("%s: only %d of %d return addresses follow a call: it may be another build than the one that ran",
				m.File, m.CallsFound, m.CallsChecked))
		}
	}
	const shown = 3
	if n := len(missing); n > shown && !a.verbose {
		missing = append(missing[:shown], fmt.Sprintf("and %d more", n-shown))
	}
	if len(missing) > 0 {
		a.warn("not found, so their functions have no names: " + strings.Join(missing, ", ") + " (see --sysroot, --binary)")
	}
}

// filterFlags keep some stacks.
type filterFlags struct{ focus, ignore string }

func (f *filterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.focus, "focus", "", "keep stacks with a function, file or module that matches `REGEXP`")
	cmd.Flags().StringVar(&f.ignore, "ignore", "", "drop stacks with a function, file or module that matches `REGEXP`")
}

func (f *filterFlags) filter(symbols *symbolize.Symbols) (*symbolize.Filter, error) {
	focus, err := compile("--focus", f.focus)
	if err != nil {
		return nil, err
	}
	ignore, err := compile("--ignore", f.ignore)
	if err != nil {
		return nil, err
	}
	return symbolize.NewFilter(symbols, focus, ignore), nil
}

// stackFlags are the flags of commands that look at stacks: which snapshots, names and stacks.
type stackFlags struct {
	seriesFlags
	symbolFlags
	filterFlags
}

func (f *stackFlags) add(a *app, cmd *cobra.Command) {
	f.seriesFlags.add(a, cmd)
	f.symbolFlags.add(cmd)
	f.filterFlags.add(cmd)
}

// named gives the stacks of a series their names, and chooses among them.
func (f *stackFlags) named(ctx context.Context, a *app, s *series.Series) (*symbolize.Symbols, *symbolize.Filter, error) {
	symbols, err := f.resolve(ctx, a, s)
	if err != nil {
		return nil, nil, err
	}
	filter, err := f.filter(symbols)
	return symbols, filter, err
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
