package help

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag is shown by --help, which has at most [MaxUsual] flags; or by --help-all only, which has
// at most [MaxShown]; or is hidden. A hidden flag works, and is documented as a key of
// heaplapse.yaml.
const (
	MaxUsual = 12
	MaxShown = 20
)

// The annotations of flags that are not shown by --help.
const (
	rareAnnotation  = "heaplapse.rare"
	aliasAnnotation = "heaplapse.alias"
)

// Levels tells which flags of a command are usual, and which are rare. The others are hidden,
// except those that all commands have. Without a call of Levels, all flags of a command are usual.
func Levels(cmd *cobra.Command, usual, rare string) {
	shown, seldom := strings.Fields(usual), strings.Fields(rare)
	for _, name := range slices.Concat(shown, seldom) {
		if cmd.Flags().Lookup(name) == nil {
			panic(fmt.Sprintf("%s has no flag --%s", cmd.Name(), name))
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case slices.Contains(seldom, f.Name):
			MakeRare(f)
		case !slices.Contains(shown, f.Name):
			f.Hidden = true
		}
	})
}

// MakeRare makes --help-all show a flag, and --help not.
func MakeRare(f *pflag.Flag) { annotate(f, rareAnnotation, "") }

func isRare(f *pflag.Flag) bool { return f.Annotations[rareAnnotation] != nil }

func annotate(f *pflag.Flag, key, value string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{value}
}

// Alias adds an old name of a flag, which is hidden. The version after the next removes it; see docs/versioning.md.
func Alias(cmd *cobra.Command, name, of string, value pflag.Value) {
	f := cmd.Flags().VarPF(value, name, "", "an old name of --"+of)
	f.Hidden = true
	if now := cmd.Flags().Lookup(of); now != nil {
		f.NoOptDefVal = now.NoOptDefVal
	}
	annotate(f, aliasAnnotation, of)
}

// Refuse adds a hidden flag that other commands have, and whose use is an error that says why.
func Refuse(cmd *cobra.Command, name, why string) {
	Alias(cmd, name, name, refused{why})
}

// refused is the value of a flag that cannot be set.
type refused struct{ why string }

func (r refused) Set(string) error { return errors.New(r.why) }
func (r refused) String() string   { return "" }
func (r refused) Type() string     { return "string" }

// Setting reports whether a flag is a key of heaplapse.yaml.
func Setting(f *pflag.Flag) bool {
	never := []string{"help", allFlag, "config", "version"}
	return f.Annotations[aliasAnnotation] == nil && !slices.Contains(never, f.Name)
}

// allFlag is the flag that lists all flags.
const allFlag = "help-all"

// AddAll adds --help-all to a command and the commands below it.
func AddAll(cmd *cobra.Command) {
	f := cmd.Flags().VarPF(helpAll{cmd}, allFlag, "", "print this help, with flags that are seldom needed")
	f.NoOptDefVal, f.Hidden = "true", true
	for _, c := range cmd.Commands() {
		AddAll(c)
	}
}

// helpAll is the value of --help-all, which is --help, and changes what it prints.
type helpAll struct{ cmd *cobra.Command }

func (h helpAll) Set(string) error { return h.cmd.Flags().Set("help", "true") }
func (h helpAll) String() string   { return "" }
func (h helpAll) Type() string     { return "bool" }

// writeMore tells how many flags are not shown.
func writeMore(b *strings.Builder, cmd *cobra.Command, all bool) {
	rare, hidden := 0, 0
	visitFlags(cmd, func(f *pflag.Flag) {
		switch {
		case f.Hidden && Setting(f):
			hidden++
		case isRare(f):
			rare++
		}
	})
	switch {
	case cmd.HasAvailableSubCommands():
	case !all && rare == 1:
		fmt.Fprintf(b, "\n%s --%s lists 1 more flag.\n", cmd.CommandPath(), allFlag)
	case !all && rare > 1:
		fmt.Fprintf(b, "\n%s --%s lists %d more flags.\n", cmd.CommandPath(), allFlag, rare)
	case all && hidden > 0:
		fmt.Fprintf(b, "\nFlags and keys of heaplapse.yaml: docs/configuration.md has these and %d more.\n", hidden)
	}
}
