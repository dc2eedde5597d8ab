package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/report/page"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

type reportFlags struct {
	judgeFlags
	output.Flags
	moments int
}

// reportFormats are the formats of report.
var reportFormats = flagset.NewChoice("format", "html", "md", "json")

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
		Args: help.SomePath(),
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
	})
	reportFormats.Complete(cmd)
	help.Levels(
		cmd,
		"since group-by process focus ignore output format top memory-limit",
		"until min-bytes suppressions moments binary sysroot debuginfod",
	)
	return cmd
}

// chooseFormat decides the format and checks the flags.
func (f *reportFlags) chooseFormat(stdout io.Writer) error {
	if f.Format == "" {
		f.Format = formatOf(f.File)
	}
	switch ext := filepath.Ext(f.File); {
	case f.Format == "html" && slices.Contains(otherKinds, ext):
		return fmt.Errorf("-o %s: the page is HTML: name it %s.html, and let a browser print it", f.File, strings.TrimSuffix(f.File, ext))
	case f.moments < 2:
		return fmt.Errorf("--moments %d: want 2 or more", f.moments)
	case f.Format == "html" && f.File == "" && terminal.Is(stdout):
		return errors.New("report: -o FILE is missing: the page would fill the terminal (-o - writes it there anyway)")
	}
	return nil
}

// otherKinds are extensions of files that a page cannot be.
var otherKinds = []string{".pdf", ".png", ".svg", ".jpg", ".txt", ".csv", ".xml"}

// formatOf returns the format that the extension of a file stands for.
func formatOf(output string) string {
	switch filepath.Ext(output) {
	case ".md":
		return "md"
	case ".json":
		return "json"
	}
	return "html"
}

func (a *app) report(ctx context.Context, f *reportFlags, paths []string) error {
	if err := f.chooseFormat(a.Out); err != nil {
		return err
	}
	f.all = f.Format != "md" // the page shows every site
	g, err := f.judge(ctx, a.Pipeline(), paths)
	if err != nil {
		return err
	}
	defer g.Close()
	if f.Format == "md" {
		return f.Emit(a.Out, g.Markdown)
	}
	bar := terminal.NewProgress(a.Err, "reading moments")
	model, err := page.Build(page.Options{Growth: g, Tool: build.Tool(), Moments: f.moments, Progress: bar.Update})
	bar.Done()
	if err != nil {
		return err
	}
	if f.Format == "json" {
		return f.Emit(a.Out, model.JSON)
	}
	return f.Emit(a.Out, model.HTML)
}
