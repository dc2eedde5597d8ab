package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFound   = 1 // growth or a regression was found by a command that was asked to fail on it
	exitFailure = 2 // usage error, unreadable input, or no verdict where one was asked for
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is one invocation.
type app struct {
	streams
	quiet, verbose bool
	strict         bool
	live           bool // files may be half written: that is not worth a warning
	format, output string

	status   int // of a run that gave its result
	unpacked unpacked
}

// run is the whole program but for os.Exit.
func run(ctx context.Context, args []string, s streams) int {
	a := &app{streams: s}
	defer a.unpacked.close()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	if err := root.ExecuteContext(ctx); err != nil {
		a.complain(err)
		var notRun *status.Error
		if errors.As(err, &notRun) {
			return notRun.Status
		}
		return exitFailure
	}
	return a.status
}

// complain prints an error, one line for each of several that were joined.
func (a *app) complain(err error) {
	if a.unpacked.dying.Load() {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(a.err, "heaplapse: %s\n", text.Clean(line))
	}
}

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "heaplapse",
		Short: "what grows in a native heap",
		Long: `heaplapse reads series of heap snapshots that gperftools tcmalloc (HEAPPROFILE=…)
or jemalloc (MALLOC_CONF=prof:true) wrote, names every address offline, converts
them to pprof, and says which allocation sites grow.

PATH is a directory, a file, a prefix (/tmp/profile for /tmp/profile.0001.heap …),
a quoted glob, - for standard input, or an archive that bundle wrote; .gz and .zst
are read through.

Exit status: 0 done; 1 growth or a regression was found by a command asked to fail on it;
2 usage error, unreadable input, or no verdict where one was asked for.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(usageError)
	f := cmd.PersistentFlags()
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print no warnings")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print every warning, and long tables in full")
	cmd.AddCommand(a.recordCommand(), a.infoCommand(), a.convertCommand(), a.topCommand(), a.diffCommand(), a.growthCommand(), a.watchCommand(),
		a.gateCommand(), a.baselineCommand(), a.reportCommand(), a.viewCommand(), a.bundleCommand(), a.symbolizeCommand(), a.versionCommand())
	return cmd
}

// usageError points at the help, for errors in flags and arguments.
func usageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// usageArgs makes a check of arguments point at the help.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError(cmd, err)
		}
		return nil
	}
}

// somePaths asks for at least one PATH.
func somePaths(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError(cmd, errors.New("no PATH given: name a directory, a file or a prefix of snapshots"))
	}
	return nil
}

// outputFlags add --format and -o to a command with one result.
func (a *app) outputFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.format, "format", "text", "text or json")
	f.StringVarP(&a.output, "output", "o", "", "write the result to `FILE` instead of standard output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// rendering is a result that can be written in either form.
type rendering interface {
	Text(io.Writer) error
	JSON(io.Writer) error
}

// render writes a result whole or not at all.
func (a *app) render(r rendering) error {
	var write func(io.Writer) error
	switch a.format {
	case "text":
		write = r.Text
	case "json":
		write = r.JSON
	default:
		return fmt.Errorf("--format %s: want text or json", a.format)
	}
	return a.emit(write)
}

// emit writes a result to the file of -o, whole or not at all.
func (a *app) emit(write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return a.put(cmp.Or(a.output, "-"), b.Bytes())
}

// put writes a result to a file, or to standard output for "-".
func (a *app) put(path string, content []byte) error {
	if path == "-" {
		_, err := a.out.Write(content)
		return err
	}
	return atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// checkFormat refuses an unknown --format before any work is done.
func (a *app) checkFormat() error {
	if a.format != "text" && a.format != "json" {
		return fmt.Errorf("--format %s: want text or json", a.format)
	}
	return nil
}

// report prints what is wrong with the input and decides the exit status: a
// file that was named and cannot be used makes it 2, one that was found only under --strict.
func (a *app) report(s *series.Series) {
	a.reportProblems(s)
	a.warnings(s)
}

// reportProblems prints which files cannot be used.
func (a *app) reportProblems(s *series.Series) {
	for _, p := range s.Problems {
		if a.live && changing(p.Path) {
			continue
		}
		if p.Named || a.strict {
			a.status = exitFailure
			a.complain(p)
		} else {
			a.warn(p.Error())
		}
	}
}

// changing says whether a file was written to just now.
func changing(path string) bool {
	const still = 10 * time.Second
	info, err := os.Stat(path)
	return err != nil || time.Since(info.ModTime()) < still
}

func (a *app) warnings(s *series.Series) {
	all := text.AllWarnings(s)
	if a.live {
		all = slices.DeleteFunc(all, func(w heapfile.Warning) bool { return w.Kind == heapfile.WarnUnfinished })
	}
	for _, w := range all {
		if a.strict && !w.Harmless() {
			a.status = exitFailure
		}
	}
	if a.verbose {
		for _, w := range all {
			a.warn(w.Error())
		}
		return
	}
	for _, g := range text.GroupWarnings(all) {
		a.warn(g.Text())
	}
}

func (a *app) warn(line string) {
	if !a.quiet && !a.unpacked.dying.Load() {
		fmt.Fprintf(a.err, "heaplapse: warning: %s\n", text.Clean(line)) // it may quote the input
	}
}
