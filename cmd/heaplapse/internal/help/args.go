package help

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

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

// SomeURL requires at least one URL. The number of a process is none.
func SomeURL(missing string) cobra.PositionalArgs {
	some := Some(missing)
	return func(cmd *cobra.Command, args []string) error {
		for _, a := range args {
			if n, err := strconv.Atoi(a); err == nil && n > 0 {
				return Error(cmd, fmt.Errorf("%d is no URL: heaplapse attach %[1]d records a process, and "+
					"heaplapse scrape http://localhost:%[1]d a service at a port", n))
			}
		}
		return some(cmd, args)
	}
}

// SomePath requires at least one path of snapshots.
func SomePath() cobra.PositionalArgs {
	some := Some("no PATH given: name a directory, a file or a prefix of snapshots")
	return func(cmd *cobra.Command, args []string) error {
		for _, a := range args {
			if _, err := os.Lstat(a); strings.HasPrefix(a, "--") && err != nil {
				return Error(cmd, fmt.Errorf("%s is no PATH: flags are given before --", a))
			}
		}
		return some(cmd, args)
	}
}

// Subcommand requires that there are no arguments: one would be a subcommand that does not exist.
func Subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	instead := didYouMean(args[0], cmd.CommandPath()+" ", names)
	switch {
	case instead != "":
	case cmd.HasParent():
		instead = ": want " + strings.Join(names, ", ")
	default:
		instead = forgotten(args[0])
	}
	return Error(cmd, fmt.Errorf("unknown command %q%s", args[0], instead))
}

// forgotten suggests the command for what was given without one: the number of a process, a directory, or a program.
func forgotten(arg string) string {
	const instead = ": did you mean heaplapse %s?"
	if n, err := strconv.Atoi(arg); err == nil && n > 0 {
		return fmt.Sprintf(instead, "attach "+arg)
	}
	switch info, err := os.Stat(arg); {
	case err != nil:
		return ""
	case info.IsDir():
		return fmt.Sprintf(instead, "growth "+arg)
	case info.Mode()&0o111 != 0:
		return fmt.Sprintf(instead, "record -- "+arg)
	}
	return ""
}

// Between requires a number of arguments.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		switch {
		case n > 0 && most == 0:
			return Error(cmd, fmt.Errorf("%s takes no argument", cmd.CommandPath()))
		case n < least, n > most:
			return Error(cmd, fmt.Errorf("%s: the command is %s", count(n), strings.TrimSuffix(cmd.UseLine(), " [flags]")))
		}
		return nil
	}
}

// count words a number of arguments.
func count(n int) string {
	return cmp.Or(map[int]string{0: "no argument", 1: "1 argument"}[n], fmt.Sprintf("%d arguments", n))
}
