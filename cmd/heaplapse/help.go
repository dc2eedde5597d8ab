package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of flags, in the order of the help. A command uses some of them.
const (
	groupRun        = "Running the program"
	groupWhen       = "When snapshots are taken"
	groupInput      = "Snapshots and sites"
	groupThresholds = "Thresholds"
	groupOutput     = "Output"
	groupFiles      = "Where programs, libraries and debug information are found"
)

var groupOrder = []string{groupRun, groupWhen, groupInput, groupThresholds, groupOutput, groupFiles}

// groupAnnotation is the annotation of a flag that names its group.
const groupAnnotation = "heaplapse.group"

// inGroup adds flags to a command, in the order in which they are defined.
func inGroup(cmd *cobra.Command, group string, define func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(group, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	set.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupAnnotation: {group}} })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(set)
}

// completeWith makes the shell complete the value of a flag.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

// helpWidth is the width of the help in characters.
const helpWidth = 100

// usage prints the part of the help after the description: commands, and flags by group.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
		writeCommands(&b, cmd)
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	for _, g := range flagGroups(cmd) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Name(), g.FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
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

// flagGroups returns the flags of a command, those that it inherits included, in groups.
func flagGroups(cmd *cobra.Command) (out []*pflag.FlagSet) {
	groups := map[string]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		if f.Name == "help" {
			f.Usage = "print this help"
		}
		name := groupOutput
		if g := f.Annotations[groupAnnotation]; len(g) > 0 {
			name = g[0]
		}
		if groups[name] == nil {
			groups[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			groups[name].SortFlags = false
		}
		groups[name].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, name := range groupOrder {
		if g := groups[name]; g != nil && g.HasAvailableFlags() {
			out = append(out, g)
		}
	}
	return out
}
