package flagset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// Check returns an error for another word.
func (c Choice) Check(value string) error {
	if slices.Contains(c.values, value) {
		return nil
	}
	return fmt.Errorf("--%s %s: want %s", c.flag, value, c)
}

// Complete makes the shell complete the words.
func (c Choice) Complete(cmd *cobra.Command) {
	complete := cobra.FixedCompletions(c.values, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(c.flag, complete) // fails only for an unknown flag
}

// SampleTypes is --sample, whose words are the values of a profile.
var SampleTypes = NewChoice("sample",
	string(convert.InuseSpace), string(convert.InuseObjects), string(convert.AllocSpace), string(convert.AllocObjects))
