package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/internal/record"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

type recordFlags struct {
	record.Options
	every, everyAlloc, everyInuse, samplePeriod string
	dryRun, bundle                              bool
}

func (a *app) recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [flags] -- CMD [ARG…]",
		Short: "run a program under a preloaded allocator that writes snapshots",
		Long: `Runs CMD with tcmalloc's or jemalloc's heap profiler preloaded, and keeps what its
snapshots will need: times, processes, memory, build IDs, names of generated code.
The program's standard streams, terminal and environment are its own; signals are
passed on to it.

  heaplapse record -- python3 script.py     then: heaplapse growth heaplapse-python3-…
  heaplapse record -o DIR -- ./server       end it with ^C or SIGTERM, as without record

Engines: tcmalloc traces every allocation: exact, and slow where a program does little
but allocate. jemalloc samples: cheap. auto takes one that can do what is asked for,
jemalloc if both can and are there.

Recorded is the program itself, also under sh -c, env, timeout and the like;
--follow-children keeps all processes, each with its own snapshots.

Exit status: that of CMD; if a signal ended it, record ends by the same. 125: record
itself failed; 126: CMD cannot be run; 127: CMD was not found.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, errors.New("no command given: heaplapse record -- CMD ARG…"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Command = args
			return a.record(cmd, &f)
		},
	}
	cmd.SetFlagErrorFunc(recordUsage)
	f.add(cmd)
	return cmd
}

// recordUsage makes wrong flags exit with 125, as env and timeout do.
func recordUsage(cmd *cobra.Command, err error) error {
	return &status.Error{Status: status.Failed, Err: usageError(cmd, err)}
}

func (f *recordFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows CMD is CMD's
	flags.StringVar(&f.Engine, "engine", "auto", "tcmalloc, jemalloc or auto")
	flags.StringVar(&f.Library, "library", "", "the engine's `FILE`, if it is in none of the usual places")
	flags.StringVarP(&f.Dir, "output", "o", "", "keep the snapshots in `DIR` (default heaplapse-CMD-TIME here)")
	flags.StringVar(&f.every, "every", "auto", "`TIME` between snapshots, like 30s; auto starts at 500ms and slows down; 0 is off")
	flags.StringVar(&f.everyAlloc, "every-alloc", "", "a snapshot after every `SIZE` allocated, like 1GiB")
	flags.StringVar(&f.everyInuse, "every-inuse", "", "a snapshot at every new high of the heap by `SIZE`, like 100MiB")
	flags.StringVar(&f.samplePeriod, "sample-period", "", "sample one allocation in `SIZE` (jemalloc; default 512KiB)")
	flags.DurationVar(&f.Duration, "duration", 0, "end the program after `TIME`, like 2h, with SIGTERM")
	flags.IntVar(&f.Keep, "keep", 500, "keep `N` snapshots of each process, evenly spread (0: all)")
	flags.StringVar(&f.Signal, "signal", "", "the program takes a snapshot when it gets this signal `NAME`, like USR2 (tcmalloc)")
	flags.BoolVar(&f.FollowChildren, "follow-children", false, "keep the snapshots of all processes")
	flags.BoolVar(&f.JIT, "jit", false, "make Node and CPython name their functions (NODE_OPTIONS, PYTHONPERFSUPPORT)")
	flags.BoolVar(&f.PythonMalloc, "python-malloc", false, "make CPython's small objects visible (PYTHONMALLOC=malloc)")
	flags.BoolVar(&f.bundle, "bundle", false, "afterwards write DIR"+bundle.Suffix+", which names everything on another machine (see heaplapse bundle)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the environment and the command, and run nothing")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{"auto", "tcmalloc", "jemalloc"}, cobra.ShellCompDirectiveNoFileComp))
}

// options reads the flags that have units.
func (f *recordFlags) options() (record.Options, error) {
	o := f.Options
	o.Recorder = "heaplapse " + version()
	var err error
	switch f.every {
	case "auto":
		o.Adaptive = true
	default:
		if o.Every, err = parseInterval(f.every); err != nil {
			return o, fmt.Errorf("--every: %w", err)
		}
	}
	for _, size := range []struct {
		flag, text string
		to         *int64
	}{
		{"--every-alloc", f.everyAlloc, &o.EveryAlloc},
		{"--every-inuse", f.everyInuse, &o.EveryInuse},
		{"--sample-period", f.samplePeriod, &o.SamplePeriod},
	} {
		if size.text == "" {
			continue
		}
		if *size.to, err = units.ParseBytes(size.text); err != nil {
			return o, fmt.Errorf("%s: %w", size.flag, err)
		}
	}
	return o, nil
}

func parseInterval(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time: want auto, 0, or a number with a unit, like 30s or 5m", text)
	}
	return d, nil
}

func (a *app) record(cmd *cobra.Command, f *recordFlags) error {
	o, err := f.options()
	if err != nil {
		return recordUsage(cmd, err)
	}
	o.Note = func(text string) { a.warn(text) }
	plan, err := record.Prepare(o)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.printPlan(plan)
	}
	a.announce(plan)
	outcome, err := plan.Run(cmd.Context())
	if err != nil {
		return err
	}
	a.summarize(outcome)
	var failed error
	if f.bundle && outcome.Snapshots > 0 {
		failed = a.bundleRecording(cmd.Context(), outcome.Dir)
	}
	if failed != nil && outcome.Status != exitOK {
		a.complain(failed) // the program's status goes before
	}
	if outcome.Signal != 0 && a.in == os.Stdin { // the command, not a test within another process
		sig.Die(outcome.Signal)
	}
	a.status = outcome.Status
	if failed != nil && a.status == exitOK {
		return &status.Error{Status: status.Failed, Err: failed}
	}
	return nil
}

// bundleRecording packs what was recorded. Standard output is the program's.
func (a *app) bundleRecording(ctx context.Context, dir string) error {
	out := filepath.Clean(dir) + bundle.Suffix
	contents, err := a.gather(ctx, &symbolFlags{}, []string{dir})
	if err == nil {
		err = a.writeBundle(ctx, contents, out)
	}
	if err != nil {
		return fmt.Errorf("--bundle: %w", err)
	}
	a.say("to take along: %s", out)
	return nil
}

// say prints a line about the recording; the program's own words go past it.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, "heaplapse: "+format+"\n", args...)
	}
}

func (a *app) announce(p *record.Plan) {
	engine := p.Engine
	if p.Library.Version != "" {
		engine += " " + p.Library.Version
	}
	a.say("recording %s with %s (%s): %s", p.Command[0], engine, p.Why, p.Cost)
	a.say("snapshots %s go to %s", p.When, p.Dir)
	for _, h := range p.Hints {
		a.say("hint: %s", h)
	}
}

func (a *app) summarize(o record.Outcome) {
	for _, n := range o.Notes {
		a.warn(n)
	}
	if o.Snapshots == 0 {
		return
	}
	of := fmt.Sprintf("process %d", o.Main)
	if o.Processes > 1 {
		of = fmt.Sprintf("%d processes, most of process %d", o.Processes, o.Main)
	}
	a.say("%s of %s; next: heaplapse growth %s", units.Count(o.Snapshots, "snapshot"), of, shellQuote(o.Dir))
}

// printPlan prints a command that a shell can run.
func (a *app) printPlan(p *record.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s; %s\n# snapshots %s, in %s\n", p.Engine, p.Why, p.Cost, p.When, p.Dir)
	for _, s := range p.Settings {
		fmt.Fprintf(&b, "%s=%s \\\n", s.Name, shellQuote(s.Value))
	}
	for i, arg := range p.Command {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(shellQuote(arg))
	}
	_, err := io.WriteString(a.out, b.String()+"\n")
	return err
}

// shellQuote quotes a word for sh where that is needed.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
