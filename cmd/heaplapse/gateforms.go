package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/gate"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
)

// gateFormFlags say in which forms the gate's answer is written, and where to.
type gateFormFlags struct {
	limit         int
	markdownLimit string
	sourceRoot    string
	outputs       map[string]*string
}

// gateOutputs are the forms of the result; several are written at once.
var gateOutputs = []struct {
	name, help string
	write      func(*gatereport.Report, io.Writer) error
}{
	{"text", "the table (default: to standard output)", (*gatereport.Report).Text},
	{"json", "all numbers, as heaplapse.gate/1", (*gatereport.Report).JSON},
	{"markdown", "Markdown, for a step's summary or a comment", (*gatereport.Report).Markdown},
	{"junit", "JUnit XML, for a CI server's list of tests", (*gatereport.Report).JUnit},
	{"sarif", "SARIF 2.1.0, for code scanning", (*gatereport.Report).SARIF},
	{"pprof", "the current run minus a base, for go tool pprof", (*gatereport.Report).Pprof},
}

func (f *gateFormFlags) addForms(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.outputs = map[string]*string{}
	for _, o := range gateOutputs {
		f.outputs[o.name] = flags.String(o.name, "", fmt.Sprintf("write %s to `FILE`, - for standard output", o.help))
	}
	flags.IntVar(&f.limit, "top", 10, "of what changed and did not fail, show `N` functions of a kind in text")
	flags.StringVar(&f.markdownLimit, "markdown-limit", "1023KiB", "cut Markdown at `SIZE` and say so: GitHub takes 1 MiB for a step's summary, 64KiB for a comment")
	flags.StringVar(&f.sourceRoot, "source-root", ".", "files below `DIR`, as the debug information calls it, are relative in SARIF")
}

// check refuses what cannot be written before any work is done.
func (f *gateFormFlags) checkForms() error {
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
		if other, ok := used[onePath(path)]; ok {
			return fmt.Errorf("--%s and --%s cannot both go to %s", other, o.name, path)
		}
		used[onePath(path)] = o.name
	}
	return nil
}

// onePath is the same for all names of one file, as far as can be told.
func onePath(path string) string {
	if path == "-" {
		return path
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
}

// form is the result with what its forms need.
func (f *gateFormFlags) form(result *gate.Result) *gatereport.Report {
	limit, _ := units.ParseBytes(f.markdownLimit) // was checked
	root, err := filepath.Abs(f.sourceRoot)
	if err != nil {
		root = f.sourceRoot // no working directory: files stay absolute
	}
	return &gatereport.Report{Result: result, Top: f.limit, MarkdownLimit: int(limit), SourceRoot: root, Version: version()}
}

// write writes all forms that were asked for, each whole or not at all; one that cannot be written does not keep the others from
// being. Text goes to standard output unless another form does.
func (f *gateFormFlags) write(a *app, g *gatereport.Report) error {
	if text := f.outputs["text"]; *text == "" && !f.usesStdout() {
		*text = "-"
	}
	var errs []error
	for _, o := range gateOutputs {
		path := *f.outputs[o.name]
		if path == "" {
			continue
		}
		var b bytes.Buffer
		err := o.write(g, &b)
		if err == nil {
			err = a.put(path, b.Bytes())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", o.name, err))
		}
	}
	return errors.Join(errs...)
}

func (f *gateFormFlags) usesStdout() bool {
	for _, path := range f.outputs {
		if *path == "-" {
			return true
		}
	}
	return false
}
