package flagset

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/convert"
)

// Choice is a flag whose value is one of a few words.
type Choice struct {
	flag   string
	values []string
}

// NewChoice returns the flag with this name and these words.
func NewChoice(flag string, values ...string) Choice { return Choice{flag, values} }

// String lists the words: a, b or c.
func (c Choice) String() string {
	last := len(c.values) - 1
	return strings.Join(c.values[:last], ", ") + " or " + c.values[last]
}

// Var defines the flag, with a default, in a set. The default may be a word that the user cannot
// choose.
func (c Choice) Var(flags *pflag.FlagSet, to *string, otherwise, usage string) {
	*to = otherwise
	flags.Var(&choice{c, to}, c.flag, usage)
}

// choice is the value of the flag.
type choice struct {
	Choice
	to *string
}

func (c *choice) Set(word string) error {
	if !slices.Contains(c.values, word) {
		return errors.New("want " + c.Choice.String())
	}
	*c.to = word
	return nil
}

func (c *choice) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// Words returns the words that the user can choose.
func (c *choice) Words() []string { return c.values }

// Type is that of a text in the help.
func (c *choice) Type() string { return "string" }

// Complete makes the shell complete the words.
func (c Choice) Complete(cmd *cobra.Command) {
	complete := cobra.FixedCompletions(c.values, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(c.flag, complete) // fails only for an unknown flag
}

// SampleTypes is --sample, whose words are the values of a profile.
var SampleTypes = NewChoice("sample",
	string(convert.InuseSpace), string(convert.InuseObjects), string(convert.AllocSpace), string(convert.AllocObjects))
