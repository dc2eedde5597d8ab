package output

import (
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
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Gate tells in which formats the result of gate is written, and where.
type Gate struct {
	limit         int
	markdownLimit flagset.Size
	sourceRoot    string
	outputs       gateFiles
	Style
}

// gateFormats are the formats of the result. Several can be written at once.
var gateFormats = []struct {
	name  string
	write func(*gatereport.Report, io.Writer) error
	// refuses reports whether it can tell that runs are not comparable. SARIF without a result would close the alerts of
	// the nights before.
	refuses bool
}{
	{"text", (*gatereport.Report).Text, true},
	{"json", (*gatereport.Report).JSON, true},
	{"markdown", (*gatereport.Report).Markdown, true},
	{"junit", (*gatereport.Report).JUnit, true},
	{"sarif", (*gatereport.Report).SARIF, false},
	{"pprof", (*gatereport.Report).Pprof, false},
}

// gateFiles are the files that the result is written to, by format.
type gateFiles map[string][]string

// gateOutput is the value of -o, or of an older flag that is for one format.
type gateOutput struct {
	files  gateFiles
	format string
}

// Set adds FORMAT=FILE, or a FILE for text.
func (o gateOutput) Set(text string) error {
	format, file := o.format, text
	if format == "" {
		var err error
		if format, file, err = parseOutput(text); err != nil {
			return err
		}
	}
	if err := flagset.CheckOutput(file); err != nil {
		return err
	}
	for other, files := range o.files {
		if slices.ContainsFunc(files, func(f string) bool { return sameFile(f, file) }) {
			return fmt.Errorf("%s and %s cannot both go to %s", other, format, file)
		}
	}
	o.files[format] = append(o.files[format], file)
	return nil
}

// parseOutput parses FORMAT=FILE, or a FILE for text.
func parseOutput(value string) (format, file string, err error) {
	format, file, ok := strings.Cut(value, "=")
	switch names := gateFormatNames(); {
	case !ok && formatByName(value) != "":
		return "", "", fmt.Errorf("want a format: %s=%s, or text=%[2]s for the table", formatByName(value), value)
	case !ok && slices.Contains(names, value):
		return "", "", fmt.Errorf("want the name of a file, or - for standard output: %s=FILE, %[1]s=-", value)
	case !ok && misnamed(value, "text", nil) != "":
		return "", "", errors.New(misnamed(value, "text", nil))
	case !ok:
		return "text", value, nil
	case !slices.Contains(names, format):
		return "", "", fmt.Errorf("%s is no format: want %s", format, strings.Join(names, ", "))
	}
	return format, file, nil
}

func (o gateOutput) String() string { return "" }

// Type is that of a text in the help.
func (o gateOutput) Type() string { return "string" }

func gateFormatNames() (names []string) {
	for _, f := range gateFormats {
		names = append(names, f.name)
	}
	return names
}

// formatByName returns the format that the extension of a file stands for, unless it is text.
func formatByName(file string) string {
	return map[string]string{
		".json": "json", ".md": "markdown", ".xml": "junit", ".sarif": "sarif", ".gz": "pprof", ".pb": "pprof",
	}[filepath.Ext(file)]
}

// sameFile reports whether two outputs replace each other.
func sameFile(a, b string) bool {
	if a == "-" || b == "-" {
		return a == b
	}
	return atomicfile.Target(a) == atomicfile.Target(b)
}

// Add adds the flags.
func (f *Gate) Add(cmd *cobra.Command) {
	f.outputs = gateFiles{}
	_ = f.markdownLimit.Set("1023KiB")
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.VarP(gateOutput{files: f.outputs}, "output", "o", "write `FORMAT=FILE`: "+strings.Join(gateFormatNames(), ", ")+" (repeatable; FILE alone is the table, - is standard output; $GITHUB_STEP_SUMMARY is added to, not replaced)")
		flags.Var(flagset.Count(&f.limit, 10), "top", "list `N` functions of each kind of change that did not fail")
		flags.Var(&f.markdownLimit, "markdown-limit", "truncate Markdown at `SIZE`, with a note: GitHub accepts 1 MiB for the summary of a step, 64KiB for a comment")
		flags.StringVar(&f.sourceRoot, "source-root", ".", "in SARIF, make the paths of source files below `DIR` relative")
	})
	for _, o := range gateFormats {
		help.Alias(cmd, o.name, "output", gateOutput{f.outputs, o.name})
	}
	f.Style.Add(cmd)
}

// Check returns an error for settings that are wrong, before any work is done.
func (f *Gate) Check() error {
	if f.markdownLimit.Bytes < gatereport.MinMarkdownLimit {
		return fmt.Errorf("--markdown-limit %s: want at least %s", &f.markdownLimit, units.Bytes(gatereport.MinMarkdownLimit))
	}
	return nil
}

// Report returns the result with the settings of its formats.
func (f *Gate) Report(result *gate.Result) *gatereport.Report {
	root, err := filepath.Abs(f.sourceRoot)
	if err != nil {
		root = f.sourceRoot // there is no current directory: paths stay absolute
	}
	return &gatereport.Report{
		Result:        result,
		Top:           f.limit,
		MarkdownLimit: int(f.markdownLimit.Bytes),
		SourceRoot:    root,
		Version:       build.Version(),
	}
}

// Write writes the result in all formats that were asked for. An error in one does not prevent the
// others. Text goes to standard output unless another format does. If runs are not comparable, standard error has the
// text, and only formats are written that can tell.
func (f *Gate) Write(stdout io.Writer, report *gatereport.Report) error {
	stdoutTaken := false
	for _, files := range f.outputs {
		stdoutTaken = stdoutTaken || slices.Contains(files, "-")
	}
	refused := report.Verdict == gate.Refused
	if len(f.outputs["text"]) == 0 && !stdoutTaken && !refused {
		f.outputs["text"] = []string{"-"}
	}
	report.Style = f.Style.On(stdout, !slices.Contains(f.outputs["text"], "-"))
	var errs []error
	for _, o := range gateFormats {
		for _, path := range f.outputs[o.name] {
			if refused && (!o.refuses || path == "-" && o.name == "text") {
				continue
			}
			write := func(w io.Writer) error { return o.write(report, w) }
			var err error
			switch {
			case path == "-" && o.name == "text":
				err = Text(stdout, write)
			case o.name == "markdown":
				err = Put(onTerminal(stdout), path, write)
			default:
				err = Put(stdout, path, write)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("-o %s=%s: %w", o.name, path, err))
			}
		}
	}
	return errors.Join(errs...)
}
