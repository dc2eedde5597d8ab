// Package help prints the help of a command with its flags in groups.
package help

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// The groups of flags, in the order of the help. A command uses some of them.
const (
	Run        = "Running the program"
	Process    = "The process"
	Requests   = "Requests to the service"
	When       = "When snapshots are taken"
	Addresses  = "Addresses"
	Input      = "Snapshots and sites"
	Set        = "Baseline set"
	Thresholds = "Thresholds"
	Output     = "Output"
	Fleet      = "Fleet"
	Files      = "Where programs, libraries and debug information are found"
)

var groupOrder = []string{
	Run,
	Process,
	Requests,
	When,
	Addresses,
	Input,
	Set,
	Fleet,
	Thresholds,
	Output,
	Files,
}

// GroupAnnotation is the annotation of a flag that names its group.
const GroupAnnotation = "heaplapse.group"

// Group adds flags to a command, in the order in which they are defined.
func Group(cmd *cobra.Command, group string, define func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(group, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	set.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{GroupAnnotation: {group}} })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(set)
}

// HelpWidth is the greatest width of the help in characters.
const HelpWidth = 100

// Printer prints the help for a terminal.
type Printer struct {
	// Width is that of the terminal in columns; 0 if there is none.
	Width int
}

// width is the width of lines.
func (p Printer) width() int {
	if p.Width <= 0 || p.Width > HelpWidth {
		return HelpWidth
	}
	return max(p.Width, text.LeastWidth)
}

// Help prints the help of a command.
func (p Printer) Help(cmd *cobra.Command, _ []string) {
	long := p.fit(strings.TrimRight(cmp.Or(cmd.Long, cmd.Short), " \n"))
	_, _ = io.WriteString(cmd.OutOrStdout(), long+"\n\n"+p.usage(cmd)) // standard output keeps its error
}

// Usage prints the part of the help after the description: commands, and flags by group.
func (p Printer) Usage(cmd *cobra.Command) error {
	_, err := io.WriteString(cmd.OutOrStderr(), p.usage(cmd))
	return err
}

func (p Printer) usage(cmd *cobra.Command) string {
	var head, flags, tail strings.Builder
	head.WriteString("Usage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&head, "  %s COMMAND\n", cmd.CommandPath())
		writeCommands(&head, cmd)
	} else {
		fmt.Fprintf(&head, "  %s\n", cmd.UseLine())
	}
	all := cmd.Flags().Changed(allFlag)
	for _, g := range FlagGroups(cmd, all) {
		fmt.Fprintf(&flags, "\n%s\n%s", p.fit(g.Name()+":"), p.flags(g))
	}
	writeMore(&tail, cmd, all)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&tail, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
	return p.fit(head.String()) + flags.String() + p.fit(tail.String())
}

// flags lists flags.
func (p Printer) flags(set *pflag.FlagSet) string {
	if p.width() == HelpWidth {
		return set.FlagUsagesWrapped(HelpWidth)
	}
	return p.fit(set.FlagUsages())
}

// writeCommands lists the subcommands by group.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	write := func(title, id string) {
		var list []*cobra.Command
		for _, c := range cmd.Commands() {
			if c.GroupID == id && c.IsAvailableCommand() {
				list = append(list, c)
			}
		}
		if len(list) > 0 {
			fmt.Fprintf(b, "\n%s\n", title)
		}
		for _, c := range list {
			fmt.Fprintf(b, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		write(g.Title, g.ID)
	}
	other := "Commands:"
	if len(cmd.Groups()) > 0 {
		other = "Other commands:"
	}
	write(other, "")
}

// order sorts the flags of the output group that most commands have: where to first, the help last.
var order = map[string]int{"output": -2, "format": -1, "demangle": 1, "help": 2, "quiet": 2, "verbose": 2}

// visitFlags calls a function for the flags of a command, those that it inherits included.
func visitFlags(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.LocalFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
}

// FlagGroups returns the usual flags of a command, and with rare also those that are seldom needed,
// in groups.
func FlagGroups(cmd *cobra.Command, rare bool) (out []*pflag.FlagSet) {
	groups := map[string][]*pflag.Flag{}
	visitFlags(cmd, func(f *pflag.Flag) {
		if f.Name == "help" {
			f.Usage = "print this help"
		}
		name := Output
		if g := f.Annotations[GroupAnnotation]; len(g) > 0 {
			name = g[0]
		}
		if !f.Hidden && (rare || !isRare(f)) {
			groups[name] = append(groups[name], f)
		}
	})
	for _, name := range groupOrder {
		if groups[name] == nil {
			continue
		}
		slices.SortStableFunc(groups[name], func(a, b *pflag.Flag) int { return cmp.Compare(order[a.Name], order[b.Name]) })
		set := pflag.NewFlagSet(name, pflag.ContinueOnError)
		set.SortFlags = false
		for _, f := range groups[name] {
			set.AddFlag(f)
		}
		out = append(out, set)
	}
	return out
}
