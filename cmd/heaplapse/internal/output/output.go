// Package output writes the results of commands, whole or not at all.
package output

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// Flags tell the format of a result and where it is written.
type Flags struct {
	Format, File string
}

// Rendering is what a command prints.
type Rendering interface {
	Text(io.Writer) error
	JSON(io.Writer) error
}

// Add adds --format and -o. The first format is the default.
func (f *Flags) Add(cmd *cobra.Command, formats ...string) {
	choice := flagset.NewChoice("format", formats...)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		choice.Var(flags, &f.Format, formats[0], "write `FORMAT`: "+choice.String())
		flags.VarP(flagset.OutputFile(&f.File), "output", "o", "write to `FILE` instead of standard output")
	})
	choice.Complete(cmd)
}

// Render writes a result in the format that the user chose.
func (f *Flags) Render(stdout io.Writer, r Rendering) error {
	switch f.Format {
	case "text":
		if f.ToStdout() {
			return Text(stdout, r.Text)
		}
		return f.Emit(stdout, r.Text)
	case "json":
		return f.Emit(stdout, r.JSON)
	case "csv":
		if csv, ok := r.(interface{ CSV(io.Writer) error }); ok {
			return f.Emit(stdout, csv.CSV)
		}
	case "md":
		if md, ok := r.(interface{ Markdown(io.Writer) error }); ok {
			return f.Markdown(stdout, md.Markdown)
		}
	}
	return fmt.Errorf("there is no format %q of this result", f.Format)
}

// Emit writes a result to the file of -o or to standard output, whole or not at all.
func (f *Flags) Emit(stdout io.Writer, write func(io.Writer) error) error {
	return Put(stdout, cmp.Or(f.File, "-"), write)
}

// Markdown writes Markdown as Emit does. A terminal gets the characters that it takes; other outputs are for programs,
// which take UTF-8.
func (f *Flags) Markdown(stdout io.Writer, write func(io.Writer) error) error {
	return f.Emit(onTerminal(stdout), write)
}

func onTerminal(stdout io.Writer) io.Writer {
	if terminal.Is(stdout) {
		return Characters(stdout)
	}
	return stdout
}

// Put writes to a file, or to standard output for "-", whole or not at all. It replaces a file, but
// adds to the summary of a step of GitHub Actions, as every program does that writes there.
func Put(stdout io.Writer, path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if path == "-" {
		_, err := stdout.Write(b.Bytes())
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

// Text writes a text to standard output, so that a terminal there shows it whole.
func Text(stdout io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, text.Fitted(b.String(), terminal.Width(stdout), terminal.UTF8(stdout, os.Getenv)))
	return err
}

// Characters returns a writer of texts in the characters that another writer takes.
func Characters(w io.Writer) io.Writer {
	if terminal.UTF8(w, os.Getenv) {
		return w
	}
	return ascii{w}
}

type ascii struct{ io.Writer }

func (a ascii) Write(b []byte) (int, error) {
	if _, err := io.WriteString(a.Writer, text.ASCII(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// ToStdout reports whether the result goes to standard output.
func (f *Flags) ToStdout() bool { return f.File == "" || f.File == "-" }

// Lines prints lines.
func Lines(stdout io.Writer, lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(stdout, strings.Join(lines, "\n"))
	return err
}
