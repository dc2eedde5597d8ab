package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/internal/report/page"
)

type reportFlags struct {
	growthFlags
	format  string // "" is decided by the name of the output
	moments int
}

// reportFormats are what report writes; html unless -o names a file with another extension.
var reportFormats = []string{"html", "md", "text", "json"}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report PATH… -o report.html",
		Short: "one self-contained page: memory over time, verdicts, the call tree at any moment",
		Long: `Writes one HTML file that opens from disk, without network: what grows, how fast and
how sure; memory over time by site; a ranked table; and the call tree at any
moment, or what changed between two. --format md is a summary for an issue or a
CI job, text is growth's table, json is the data of the page.

  report DIR -o report.html
  report DIR --format md >> "$GITHUB_STEP_SUMMARY"`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.writeReport(cmd.Context(), &f, paths) },
	}
	f.addJudgement(a, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "html, md, text or json (default: what the name of the -o file says, else html)")
	flags.StringVarP(&a.output, "output", "o", "", "write to `FILE`; - is standard output")
	flags.IntVar(&f.moments, "moments", page.DefaultMoments, "show at most `N` snapshots of a long series")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// chooseFormat decides what is written, and refuses what cannot be meant.
func (f *reportFlags) chooseFormat(output string, stdout io.Writer) error {
	if f.format == "" {
		f.format = formatOf(output)
	}
	switch {
	case !slices.Contains(reportFormats, f.format):
		return fmt.Errorf("--format %s: want html, md, text or json", f.format)
	case f.moments < 2:
		return fmt.Errorf("--moments %d: want 2 or more", f.moments)
	case f.format == "html" && output == "" && isTerminal(stdout):
		return errors.New("report: -o FILE is missing: the page would fill the terminal (-o - writes it there nevertheless)")
	}
	return nil
}

// formatOf is the format that a file's name asks for.
func formatOf(output string) string {
	switch filepath.Ext(output) {
	case ".md":
		return "md"
	case ".json":
		return "json"
	case ".txt":
		return "text"
	}
	return "html"
}

func (a *app) writeReport(ctx context.Context, f *reportFlags, paths []string) error {
	if err := f.chooseFormat(a.output, a.out); err != nil {
		return err
	}
	f.all = f.format == "html" || f.format == "json" // the page shows every site
	g, err := a.grown(ctx, &f.growthFlags, paths)
	if err != nil {
		return err
	}
	defer g.Series.Close()
	switch f.format {
	case "md":
		return a.emit(g.Markdown)
	case "text":
		return a.emit(g.Text)
	}
	bar := newProgress(a.err, "reading moments")
	model, err := page.Build(page.Options{
		Growth: g, Tool: "heaplapse " + version(), Moments: f.moments, Progress: bar.update,
	})
	bar.done()
	if err != nil {
		return err
	}
	if f.format == "json" {
		return a.emit(model.JSON)
	}
	return a.emit(model.HTML)
}
