package help

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Error adds a reference to the help to errors in flags and arguments.
func Error(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// Args adds a reference to the help to the errors of a check of arguments.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Error(cmd, err)
		}
		return nil
	}
}

// Some requires at least one argument. missing is the error without one.
func Some(missing string) cobra.PositionalArgs {
	return Args(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing)
		}
		return nil
	})
}

// SomePath requires at least one path of snapshots.
func SomePath() cobra.PositionalArgs {
	return Some("no PATH given: name a directory, a file or a prefix of snapshots")
}
