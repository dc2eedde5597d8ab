package output

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagname"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Gate tells in which formats the result of gate is written, and where.
type Gate struct {
	limit         int
	markdownLimit string
	sourceRoot    string
	outputs       map[string]*string
	Style
}

// gateOutputs are the formats of the result. Several can be written at once.
var gateOutputs = []struct {
	name, help string
	write      func(*gatereport.Report, io.Writer) error
}{
	{"text", "the table to `FILE` (default: standard output; so is -)", (*gatereport.Report).Text},
	{"json", "all numbers to `FILE`, as heaplapse.gate/1", (*gatereport.Report).JSON},
	{"markdown", "Markdown to `FILE`, for the summary of a CI step or a comment; $GITHUB_STEP_SUMMARY is added to, not replaced", (*gatereport.Report).Markdown},
	{"junit", "JUnit XML to `FILE`, for the list of tests of a CI server", (*gatereport.Report).JUnit},
	{"sarif", "SARIF 2.1.0 to `FILE`, for code scanning", (*gatereport.Report).SARIF},
	{"pprof", "the current run minus an earlier one to `FILE`, for go tool pprof", (*gatereport.Report).Pprof},
}

// Add adds the flags.
func (f *Gate) Add(cmd *cobra.Command) {
	f.outputs = map[string]*string{}
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		for _, o := range gateOutputs {
			f.outputs[o.name] = flags.String(o.name, "", "write "+o.help)
		}
		flags.Var(flagset.Count(&f.limit, 10), "top", "list `N` functions of each kind of change that did not fail")
		flags.StringVar(&f.markdownLimit, "markdown-limit", "1023KiB", "truncate Markdown at `SIZE`, with a note: GitHub accepts 1 MiB for the summary of a step, 64KiB for a comment")
		flags.StringVar(&f.sourceRoot, "source-root", ".", "in SARIF, make the paths of source files below `DIR` relative")
	})
	f.Style.Add(cmd)
}

// Check returns an error for outputs that cannot be written, before any work is done.
func (f *Gate) Check() error {
	if err := f.Style.Check(); err != nil {
		return err
	}
	n, err := units.ParseBytes(f.markdownLimit)
	if err == nil && n < gatereport.MinMarkdownLimit {
		err = fmt.Errorf("want at least %s", units.Bytes(gatereport.MinMarkdownLimit))
	}
	if err != nil {
		return fmt.Errorf("--markdown-limit %s: %w", f.markdownLimit, err)
	}
	used := map[string]string{}
	for _, o := range gateOutputs {
		path := *f.outputs[o.name]
		if path == "" {
			continue
		}
		file := path
		if path != "-" {
			file = atomicfile.Target(path)
		}
		if other, ok := used[file]; ok {
			return fmt.Errorf("--%s and --%s cannot both go to %s", other, o.name, path)
		}
		used[file] = o.name
	}
	return nil
}

// Report returns the result with the settings of its formats.
func (f *Gate) Report(result *gate.Result) *gatereport.Report {
	limit, _ := units.ParseBytes(f.markdownLimit) // has been checked
	root, err := filepath.Abs(f.sourceRoot)
	if err != nil {
		root = f.sourceRoot // there is no current directory: paths stay absolute
	}
	return &gatereport.Report{
		Result:        result,
		Top:           f.limit,
		MarkdownLimit: int(limit),
		SourceRoot:    root,
		Version:       build.Version(),
		Flags:         flagname.All(),
	}
}

// Write writes the result in all formats that were asked for. An error in one does not prevent the
// others. Text goes to standard output unless another format does.
func (f *Gate) Write(stdout io.Writer, report *gatereport.Report) error {
	toStdout := func(path *string) bool { return *path == "-" }
	text := f.outputs["text"]
	if *text == "" && !slices.ContainsFunc(slices.Collect(maps.Values(f.outputs)), toStdout) {
		*text = "-"
	}
	report.Style = f.Style.On(stdout, *text != "-")
	var errs []error
	for _, o := range gateOutputs {
		path := *f.outputs[o.name]
		if path == "" {
			continue
		}
		if err := Put(stdout, path, func(w io.Writer) error { return o.write(report, w) }); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", o.name, err))
		}
	}
	return errors.Join(errs...)
}
