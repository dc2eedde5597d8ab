// Package manual writes the man pages.
package manual

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Build is what a page says about the program.
type Build struct {
	Version string
	Date    time.Time
}

// Write writes the pages of a command and of its subcommands into a directory that exists:
// heaplapse.1, heaplapse-growth.1. It changes the texts of the commands, so that they are no longer
// fit for the help.
func Write(root *cobra.Command, build Build, dir string) error {
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Date: &build.Date, Source: "heaplapse " + build.Version}
	return write(root, header, dir)
}

func write(cmd *cobra.Command, header doc.GenManHeader, dir string) error {
	flags := describe(cmd)
	path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	err := atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		page := header // GenMan sets its title
		setHidden(flags, true)
		defer setHidden(flags, false)
		return doc.GenMan(cmd, &page, w)
	})
	if err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || cmd.Name() == "completion" { // its page describes the shells
			continue
		}
		if err := write(c, header, dir); err != nil {
			return err
		}
	}
	return nil
}

func setHidden(flags []*pflag.FlagSet, hidden bool) {
	for _, set := range flags {
		set.VisitAll(func(f *pflag.Flag) { f.Hidden = hidden })
	}
}

// describe makes the description of a command Markdown, and adds its flags by group. It returns the
// flags, which cobra would list once more.
func describe(cmd *cobra.Command) []*pflag.FlagSet {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	writeText(&b, cmd.Long)
	groups := help.FlagGroups(cmd, true)
	for _, group := range groups {
		fmt.Fprintf(&b, "# %s\n\n", strings.ToUpper(group.Name()))
		group.VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
	}
	cmd.Long, cmd.Short = b.String(), escape(cmd.Short)
	return groups
}

// writeText writes a text whose indented lines are examples.
func writeText(b *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			for line := range strings.Lines(paragraph) {
				b.WriteString("  " + line)
			}
		} else {
			b.WriteString(escape(paragraph))
		}
		b.WriteString("\n\n")
	}
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	if f.Shorthand != "" {
		fmt.Fprintf(b, "**-%s**, ", f.Shorthand)
	}
	fmt.Fprintf(b, "**--%s**", f.Name)
	if value != "" {
		fmt.Fprintf(b, " *%s*", escape(value))
	}
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	fmt.Fprintf(b, "\n:   %s\n\n", escape(usage))
}

// special are the characters that Markdown may take for marks.
const special = "\\`*_{}[]()#+-.!:|&<>~"

func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
