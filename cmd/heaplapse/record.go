package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/record"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

type recordFlags struct {
	record.Options
	every, holdersEvery               flagset.Interval
	samplePeriod                      flagset.PositiveSize
	everyAlloc, everyInuse, keepBytes flagset.Size
	dryRun, bundle, noBundle, orFail  bool
	scope                             scopeFlags
}

// keepBytes is the default of --keep-bytes.
const keepBytes = "2GiB"

var engines = flagset.NewChoice("engine", "builtin", "tcmalloc", "jemalloc", "auto")

func (a *app) recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [flags] -- CMD [ARG…]",
		Short: "run a program under a preloaded profiler that writes snapshots",
		Long: `Runs CMD with a heap profiler preloaded: heaplapse's own, or that of tcmalloc or jemalloc. The
output directory also gets what the snapshots alone lack: times, processes, memory, build IDs, names
of generated code. The program keeps its standard streams, terminal and environment; signals are
passed on to it.

  heaplapse record -- python3 script.py     then: heaplapse growth heaplapse-python3-…
  heaplapse record -o DIR -- ./server       end it with ^C or SIGTERM, as without record

Engines: builtin samples any allocator at little cost, needs no library, and records the lines of
Python. tcmalloc traces every allocation, which is exact but slows down programs that allocate a
lot. jemalloc samples. auto chooses the first of builtin, jemalloc and tcmalloc that works here and
supports the flags.

The program is recorded, also under sh -c, env, timeout and the like, and so are its workers: forks
of it, and processes that run the same program. Each has its own snapshots. --main-only records no
workers; --follow-children also records other programs that it starts.

If the recording cannot start, because the disk is full or a library cannot be loaded, CMD runs
without it, as if record were not there, and one line says why. --or-fail does not run it then.

Exit status: that of CMD; if a signal ended CMD, the same signal ends record: a shell shows 143
after --duration, unless CMD handles SIGTERM. 125: record itself failed; 126: CMD cannot be run;
127: CMD was not found.`,
		Args: ownStatus(help.Some("no command given: heaplapse record -- CMD ARG…")),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Command = args
			return a.record(cmd, &f)
		},
	}
	cmd.SetFlagErrorFunc(recordUsage)
	f.add(cmd)
	return cmd
}

// ownStatus makes wrong arguments exit with 125.
func ownStatus(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &status.Error{Status: status.Failed, Err: err}
		}
		return nil
	}
}

// recordUsage makes usage errors exit with 125, as in env and timeout.
func recordUsage(cmd *cobra.Command, err error) error {
	return &status.Error{Status: status.Failed, Err: help.Error(cmd, err)}
}

func (f *recordFlags) add(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false) // flags after CMD are flags of CMD
	help.Group(cmd, help.Run, func(flags *pflag.FlagSet) {
		engines.Var(flags, &f.Engine, "auto", "the heap profiler `NAME`: "+engines.String())
		flags.Var(flagset.Library(&f.Library), "library", "the library `FILE` of tcmalloc or jemalloc, if it is not in one of the usual directories")
		flags.BoolVar(&f.orFail, "or-fail", false, "do not run CMD if it cannot be recorded, and exit with 125")
		flags.Var(flagset.Time(&f.Duration, 0), "duration", "end the program with SIGTERM after `TIME`, like 2h")
		f.scope.add(flags)
		flags.BoolVar(&f.JIT, "jit", false, "make Node, Java and CPython name their functions "+
			"(sets NODE_OPTIONS, JAVA_TOOL_OPTIONS, PYTHONPERFSUPPORT)")
		flags.BoolVar(&f.PythonMalloc, "python-malloc", false, "make small objects of CPython visible to tcmalloc and jemalloc (sets PYTHONMALLOC=malloc)")
	})
	help.Group(cmd, help.When, func(flags *pflag.FlagSet) {
		flags.Var(&f.every, "every", "the `TIME` between snapshots, like 30s; auto begins with 500ms and slows down; 0 is off")
		flags.Var(&f.everyAlloc, "every-alloc", "after every `SIZE` allocated, like 1GiB")
		flags.Var(&f.everyInuse, "every-inuse", "whenever the heap exceeds its previous maximum by `SIZE`, like 100MiB")
		flags.StringVar(&f.Signal, "signal", "", "when the program gets the signal `NAME`, like USR2 (builtin, tcmalloc)")
		flags.Var(&f.samplePeriod, "sample-period", "sample one allocation per `SIZE` allocated (builtin, default 128KiB; jemalloc, default 512KiB)")
		flags.Var(flagset.Count(&f.Keep, 500), "keep", "keep at most `N` snapshots of each process, evenly spaced (0: all)")
		addHolders(flags, &f.holdersEvery, &f.NoHolders)
		_ = f.keepBytes.Set(keepBytes)
		flags.Var(&f.keepBytes, "keep-bytes", "keep snapshots of at most `SIZE` in all, but 12 of each process (0: all)")
	})
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.VarP(flagset.OutputDir(&f.Dir, "tpn"), "output", "o", "write to `DIR` (default: heaplapse-CMD-TIME in the current directory); in it %t is the time, %p the process number of record, %n the first free number")
		flags.BoolVar(&f.Replace, "replace", false, "remove the recording that DIR holds before CMD starts; other files in DIR stay")
		flags.BoolVar(&f.NoCompress, "no-compress", false, "leave the snapshots as the profiler writes them (default: *.heap.gz)")
		flags.BoolVar(&f.bundle, "bundle", false, "at the end write DIR"+bundle.Suffix+", which any machine can read (see heaplapse bundle)")
		addNoBundle(flags, &f.noBundle)
		flags.BoolVar(&f.dryRun, "dry-run", false, "print the environment and the command, and run nothing")
	})
	engines.Complete(cmd)
	cmd.MarkFlagsMutuallyExclusive("bundle", "no-bundle")
	help.Levels(cmd, "engine duration main-only follow-children or-fail every output replace bundle",
		"dry-run keep library jit signal sample-period holders-every")
}

// addNoBundle adds the flag that does not keep what names the addresses.
func addNoBundle(flags *pflag.FlagSet, none *bool) {
	flags.BoolVar(none, "no-bundle", false, "do not keep, in DIR, the names of what may change: your own programs, replaced files, and containers")
}

// addHolders adds the flags that tell when the recorder looks at what holds the memory.
func addHolders(flags *pflag.FlagSet, every *flagset.Interval, none *bool) {
	flags.Var(every, "holders-every", "look at what holds the memory every `TIME`, like 10m, and at the end; auto: after 1s, 2s, 4s, 8s, …, up to 1 GiB; 0 is off")
	flags.BoolVar(none, "no-holders", false, "never look at what holds the memory")
}

// holdersEvery returns the time between looks, 0 for the usual times, and whether there are none.
func holdersEvery(every *flagset.Interval, none bool) (time.Duration, bool) {
	return every.Every, none || every.Fixed && every.Every == 0
}

// options returns the flags with sizes and times parsed.
func (f *recordFlags) options() (record.Options, error) {
	o := f.Options
	o.Recorder = build.Tool()
	o.Every, o.Adaptive = f.every.Every, !f.every.Fixed
	o.EveryAlloc, o.EveryInuse = f.everyAlloc.Bytes, f.everyInuse.Bytes
	o.SamplePeriod, o.KeepBytes = f.samplePeriod.Bytes, f.keepBytes.Bytes
	o.Guard = newGuard()
	o.HoldersEvery, o.NoHolders = holdersEvery(&f.holdersEvery, f.NoHolders)
	o.HoldFiles = !f.noBundle
	var err error
	o.Scope, err = f.scope.value()
	return o, err
}

func (a *app) record(cmd *cobra.Command, f *recordFlags) error {
	o, err := f.options()
	if err != nil {
		return recordUsage(cmd, err)
	}
	o.Note = func(text string) { a.Warn(text) }
	o.Tell = func(text string) { a.Say("%s", text) }
	sig.FailAtFileLimit()
	if !f.dryRun {
		sig.FailAtClosedPipe() // a message that nobody reads does not keep the program from running
	}
	plan, err := record.Prepare(o)
	if err != nil {
		return a.runUnrecorded(cmd.Context(), f, o, err)
	}
	if f.dryRun {
		_, err := io.WriteString(a.Out, plan.Script())
		return err
	}
	if err := plan.MakeDir(); err != nil {
		return a.runUnrecorded(cmd.Context(), f, o, err)
	}
	for _, line := range plan.Describe() {
		a.Say("%s", line)
	}
	if name := misplaced(cmd.Flags(), f.Command[1:]); name != "" {
		a.Say("%s after the program is a flag of the program: flags of record come before it", name)
	}
	a.signals.Stop() // they are for the program
	outcome, err := plan.Run(cmd.Context())
	a.signals.Start()
	if err != nil {
		return a.runUnrecorded(cmd.Context(), f, o, err)
	}
	for _, n := range outcome.Notes {
		a.Warn(n)
	}
	var failed error
	if outcome.Snapshots > 0 {
		a.Say("%s; next: heaplapse growth %s", outcome, record.ShellQuote(outcome.Dir))
		a.keepNames(cmd.Context(), &outcome)
		if f.bundle {
			failed = a.bundleRecording(cmd.Context(), outcome.Dir)
		}
	}
	if failed != nil && outcome.Status != exitOK {
		a.Complain(failed) // the status of the program takes precedence
	}
	a.endAs(outcome)
	if failed != nil && a.status == exitOK {
		return &status.Error{Status: status.Failed, Err: failed}
	}
	return nil
}

// misplaced returns the first argument of the program that is written like a flag of record, which
// may have been meant; "" if there is none, or if record has this flag.
func misplaced(flags *pflag.FlagSet, args []string) string {
	for _, arg := range args {
		word, _, _ := strings.Cut(arg, "=")
		var f *pflag.Flag
		if name, long := strings.CutPrefix(word, "--"); long {
			f = flags.Lookup(name)
		} else if word == "-o" {
			f = flags.Lookup("output")
		}
		if f != nil && !f.Changed && f.Name != "help" && f.Name != "version" {
			return word
		}
	}
	return ""
}

// endAs makes the program's status that of record. If a signal ended the program, it ends record.
func (a *app) endAs(outcome record.Outcome) {
	if outcome.Signal != 0 && a.In == os.Stdin { // not in a test within another process
		sig.Die(outcome.Signal)
	}
	a.status, a.Failed = outcome.Status, false
}

// runUnrecorded becomes the program, if it can run although err keeps it from being recorded. Else
// it returns err. It runs the program and stays if it has more to do: it ends the program after
// --duration, says again that the directory holds another recording, or a thread waits for a file
// system.
func (a *app) runUnrecorded(ctx context.Context, f *recordFlags, o record.Options, err error) error {
	if f.orFail || f.dryRun || !record.CanRun(err) {
		return err
	}
	reason := strings.ReplaceAll(console.Reworded(err), "\n", "; ")
	a.Complain(fmt.Errorf("the program runs without a recording: %s (--or-fail does not run it then)", reason))
	if o.Duration == 0 && record.CanExec(err) {
		return record.Exec(o)
	}
	a.signals.Stop() // they are for the program
	outcome, err := record.RunUnrecorded(ctx, o)
	a.signals.Start()
	if record.CanExec(err) {
		if o.Duration != 0 {
			a.Complain(fmt.Errorf("--duration does not end the program: %w", err))
		}
		return record.Exec(o)
	}
	if err == nil {
		a.Complain(fmt.Errorf("the program ran without a recording: %s", reason))
		a.endAs(outcome)
	}
	return err
}

// keepNames writes what names the addresses of a recording to its directory, if files may not be at their paths later:
// those of containers, files that were replaced, and what the user builds.
func (a *app) keepNames(ctx context.Context, outcome *record.Outcome) {
	defer outcome.Files.Close()
	keep := outcome.Files.ToKeep(class.DefaultRules().IsOwn)
	if keep == nil {
		return
	}
	a.signals.Orderly()
	size, err := pipeline.KeepNames(ctx, outcome.Dir, pipeline.Names{
		Held: func(pid int) bundle.Held { return bundle.Held(outcome.Files.Of(pid)) }, Keep: keep, Version: build.Version(),
	})
	if err != nil {
		a.Warn("the names of the program were not kept: " + err.Error())
		return
	}
	a.Say("the names of the program are kept in %s (%s)", manifest.NamesFile, units.Bytes(size))
}

// bundleRecording packs what was recorded. Standard output belongs to the program.
func (a *app) bundleRecording(ctx context.Context, dir string) error {
	a.signals.Orderly()
	out := filepath.Clean(dir) + bundle.Suffix
	contents, err := a.collect(ctx, &bundleFlags{}, []string{dir})
	if err == nil {
		err = a.writeBundle(ctx, contents, out)
	}
	if err != nil {
		return fmt.Errorf("--bundle: %w", err)
	}
	a.Say("bundle written: %s", out)
	return nil
}
