package help

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/internal/spelling"
)

// Error words an error in flags and arguments, and adds a reference to the help. Errors in a file
// have a position instead.
func Error(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var inFile *FileError
	switch {
	case errors.As(err, &inFile), errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown) && cmd.HasSubCommands() && cmd.Flags().NArg() > 0: // behind a mistyped command
		return Subcommand(cmd, cmd.Flags().Args())
	case errors.As(err, &unknown):
		err = unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		err = fmt.Errorf("--%s has no value: want --%[1]s %s", missing.GetFlag().Name, value)
	case errors.As(err, &invalid):
		err = errors.New("--" + Reason(invalid.GetFlag(), invalid.GetValue(), err))
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// FileError is an error in a file of settings, which is not about the help.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// unknownFlag words the error for a flag that a command does not have.
func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	if short := e.GetSpecifiedShortnames(); short != "" {
		if long := oneDash(cmd, short); long != "" {
			return fmt.Errorf("unknown flag: -%s: did you mean --%[1]s?", long)
		}
		return fmt.Errorf("unknown flag: -%s", e.GetSpecifiedName())
	}
	name := e.GetSpecifiedName()
	instead := didYouMean(name, "--", append(flagNames(cmd), allFlag))
	switch {
	case name == "json" && cmd.Flags().Lookup("format") != nil:
		instead = ": use --format json"
	case name == "format" && cmd.Name() == "gate":
		instead = ": use -o FORMAT=FILE, such as -o junit=-"
	case name == "pid" && cmd.Flags().Lookup("process") != nil:
		instead = ": use --process PID"
	case name == "pid":
		instead = ": the number of a process is an argument: " + withPID(cmd)
	}
	return fmt.Errorf("unknown flag: --%s%s", name, instead)
}

// withPID is the command line of a command with a PID, or that of attach if the command takes none.
func withPID(cmd *cobra.Command) string {
	if strings.HasSuffix(cmd.Use, " PID") {
		return cmd.CommandPath() + " PID"
	}
	return cmd.Root().Name() + " attach PID"
}

// oneDash returns the flag that was written with one dash: -version is -v and an unknown "ersion".
// The letters before rest are flags without a value. It returns "" if there is no such flag.
func oneDash(cmd *cobra.Command, rest string) (name string) {
	rest, _, _ = strings.Cut(rest, "=")
	visitFlags(cmd, func(f *pflag.Flag) {
		before, ok := strings.CutSuffix(f.Name, rest)
		for _, letter := range before {
			short := cmd.Flags().ShorthandLookup(string(letter))
			ok = ok && short != nil && short.NoOptDefVal != ""
		}
		if ok && len(rest) > 1 && (!f.Hidden || Setting(f)) {
			name = f.Name
		}
	})
	return name
}

// DidYouMean returns a question about the word that a mistyped one most likely stands for; "" if
// none is like it.
func DidYouMean(mistyped string, words []string) string { return didYouMean(mistyped, "", words) }

func didYouMean(mistyped, prefix string, words []string) string {
	near := spelling.Completed(mistyped, words)
	if near == "" {
		near = spelling.Nearest(mistyped, words)
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s%s?", prefix, near)
}

// Reason tells which value of a flag is wrong, and what is wanted, given the error of its Set.
func Reason(f *pflag.Flag, value string, err error) string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = errors.Unwrap(invalid)
	}
	if want := wanted[f.Value.Type()]; want != "" {
		err = errors.New("want " + want)
	}
	if value == "" || strings.ContainsAny(value, " \t\n") {
		value = strconv.Quote(value)
	}
	return fmt.Sprintf("%s %s: %v", f.Name, value, err)
}

// wanted describes the values of flags, by their type. Other types describe them in their own
// errors.
var wanted = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint":     "a whole number, 0 or more",
	"count":    "a whole number, 1 or more",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a time such as 90s, 10m or 1h30m",
}

// flagNames are the names of a command's flags, those that it inherits included.
func flagNames(cmd *cobra.Command) (names []string) {
	visitFlags(cmd, func(f *pflag.Flag) {
		if Setting(f) || !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
