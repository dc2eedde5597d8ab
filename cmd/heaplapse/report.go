package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/page"
	"github.com/heaplapse/heaplapse/internal/report/source"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

type reportFlags struct {
	judgeFlags
	output.Flags
	moments    int
	sourceRoot string
	noSource   bool
}

// reportFormats are the formats of report.
var reportFormats = flagset.NewChoice("format", "html", "md", "json")

// somePathOfReport also rejects the name of a page without -o.
func somePathOfReport(cmd *cobra.Command, args []string) error {
	for _, path := range args {
		if ext := filepath.Ext(path); ext == ".html" || ext == ".htm" {
			return help.Error(cmd, fmt.Errorf("%s is no PATH of snapshots: -o %[1]s writes the page there", path))
		}
	}
	return help.SomePath()(cmd, args)
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report PATH… -o report.html",
		Short: "write one self-contained page: memory over time, verdicts, call trees",
		Long: `Writes one HTML file that works offline. It shows what grows, how fast and with what confidence;
memory over time by site; a table of sites; and the call tree at any moment, or the change between
two. --format md writes a summary for an issue or a CI job; json writes the data of the page.

  heaplapse report DIR -o report.html
  heaplapse report DIR --format md >> "$GITHUB_STEP_SUMMARY"`,
		Args: somePathOfReport,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.report(cmd.Context(), &f, paths) },
	}
	f.judgeFlags.add(cmd)
	flagset.DefineEvidence(cmd, &f.evidence)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		reportFormats.Var(
			flags,
			&f.Format,
			"",
			"write `FORMAT`: "+reportFormats.String()+" (default: by the name of the -o file, else html)",
		)
		flags.VarP(flagset.OutputFile(&f.File), "output", "o", "write to `FILE`; - is standard output")
		flags.IntVar(&f.moments, "moments", page.DefaultMoments, "show at most `N` snapshots of a long series")
		flags.StringVar(&f.sourceRoot, "source-root", "", "show lines of source files below `DIR` (default: the current directory; for a bundle: none)")
		flags.BoolVar(&f.noSource, "no-source", false, "show no lines of source files, as for a page that is sent to others")
	})
	reportFormats.Complete(cmd)
	help.Levels(cmd, "since group-by process focus ignore output format top memory-limit",
		"until min-bytes suppressions source-root binary sysroot debuginfod")
	return cmd
}

// chooseFormat decides the format and checks the flags.
func (f *reportFlags) chooseFormat(stdout io.Writer) error {
	if f.Format == "" {
		f.Format = output.FormatOf(f.File)
	}
	switch {
	case f.moments < 2:
		return fmt.Errorf("--moments %d: want 2 or more", f.moments)
	case f.Format == "html" && f.File == "" && terminal.Is(stdout):
		return errors.New("report: -o FILE is missing: the page would fill the terminal (-o - writes it there anyway)")
	}
	return nil
}

func (a *app) report(ctx context.Context, f *reportFlags, paths []string) error {
	if err := f.chooseFormat(a.Out); err != nil {
		return err
	}
	if f.Format == "md" {
		g, err := f.judge(ctx, a.Pipeline(), paths)
		if err != nil {
			return err
		}
		defer g.Close()
		return f.Markdown(a.Out, g.Markdown)
	}
	pages := page.Pages{Options: page.Options{Tool: build.Tool(), Moments: f.moments}}
	f.all = true // the page shows every site
	f.each, f.most = func(g *growthreport.Report, all int) error {
		pages.Processes = all
		return a.addPage(&pages, f, g)
	}, page.MaxProcesses
	g, err := f.judge(ctx, a.Pipeline(), paths)
	if err != nil {
		return err
	}
	defer g.Close()
	d := pages.Document()
	if f.Format == "json" {
		return f.Emit(a.Out, d.JSON)
	}
	if err := f.Emit(a.Out, d.HTML); err != nil {
		return err
	}
	if file := pages.SourceElsewhere(); file != "" {
		a.Say("no lines of %s are shown, because it is not below %s: --source-root %s", file,
			cmp.Or(f.sourceRoot, "the current directory"), filepath.Dir(file))
	}
	return nil
}

// addPage adds a process to the pages.
func (a *app) addPage(pages *page.Pages, f *reportFlags, g *growthreport.Report) error {
	sources, err := f.sources(g.FromBundle())
	if err != nil {
		return err
	}
	if sources != nil {
		defer func() { _ = sources.Close() }()
	}
	bar := terminal.NewProgress(a.Err, "reading moments")
	defer bar.Done()
	pages.Sources, pages.Progress = sources, bar.Update
	return pages.Add(g)
}

// sources opens the directory whose source files are shown; nil if none are.
func (f *reportFlags) sources(fromBundle bool) (*source.Dir, error) {
	root := sourceRoot(f.sourceRoot, fromBundle)
	if f.noSource || root == "" {
		return nil, nil
	}
	dir, err := source.Open(root)
	if err != nil {
		return nil, fmt.Errorf("--source-root: %w", err)
	}
	return dir, nil
}
