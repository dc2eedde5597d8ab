package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/interrupt"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// outputFlags tell the format of a result and where it is written.
type outputFlags struct {
	format, output string
	formats        flagset.Choice
}

// rendering is what a command prints.
type rendering interface {
	Text(io.Writer) error
	JSON(io.Writer) error
}

// add adds --format and -o. The first format is the default.
func (f *outputFlags) add(cmd *cobra.Command, formats ...string) {
	f.formats = flagset.NewChoice("format", formats...)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.format, "format", formats[0], "write `FORMAT`: "+f.formats.String())
		flags.StringVarP(&f.output, "output", "o", "", "write to `FILE` instead of standard output")
	})
	f.formats.Complete(cmd)
}

// check returns an error for an unknown format, before any work is done.
func (f *outputFlags) check() error { return f.formats.Check(f.format) }

// render writes a result in the format that the user chose.
func (a *app) render(f *outputFlags, r rendering) error {
	switch f.format {
	case "text":
		return a.emit(f, r.Text)
	case "json":
		return a.emit(f, r.JSON)
	case "md":
		if md, ok := r.(interface{ Markdown(io.Writer) error }); ok {
			return a.emit(f, md.Markdown)
		}
	}
	return f.check()
}

// emit writes a result to the file of -o or to standard output, whole or not at all.
func (a *app) emit(f *outputFlags, write func(io.Writer) error) error {
	return a.put(cmp.Or(f.output, "-"), write)
}

// put writes to a file, or to standard output for "-", whole or not at all. It replaces a file, but
// adds to the summary of a step of GitHub Actions, as every program does that writes there.
func (a *app) put(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if path == "-" {
		_, err := a.out.Write(b.Bytes())
		return err
	}
	summary := os.Getenv("GITHUB_STEP_SUMMARY")
	if summary != "" && atomicfile.Target(path) == atomicfile.Target(summary) {
		return atomicfile.Append(path, b.Bytes())
	}
	return atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// toStdout reports whether the result goes to standard output.
func (f *outputFlags) toStdout() bool { return f.output == "" || f.output == "-" }

// width returns the width of the terminal that the result goes to, and 0 if it goes elsewhere.
func (a *app) width(f *outputFlags) int {
	if f.toStdout() {
		return terminal.Width(a.out)
	}
	return 0
}

// printLines prints lines to standard output.
func (a *app) printLines(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

// resultWriter is standard output. It keeps its first error: a result that is not written whole is a
// failure, also where the error is ignored, as cobra does when it prints the help.
type resultWriter struct {
	*interrupt.Guarded
	failed error
}

// Write implements io.Writer.
func (s *resultWriter) Write(b []byte) (int, error) {
	n, err := s.Guarded.Write(b)
	if err == nil {
		return n, nil
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err // its path is that of a device
	}
	err = fmt.Errorf("standard output: %w", err)
	if s.failed == nil {
		s.failed = err
	}
	return n, err
}

// writeError returns the error of standard output, if a command has succeeded in spite of it.
func (a *app) writeError() error {
	if s, ok := a.out.(*resultWriter); ok {
		return s.failed
	}
	return nil
}
