package help

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Error words an error in flags and arguments, and adds a reference to the help. Errors in a file have
// a position instead.
func Error(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var inFile *FileError
	switch {
	case errors.As(err, &inFile), errors.Is(err, pflag.ErrHelp):
		return err
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
		return fmt.Errorf("unknown flag: -%s", e.GetSpecifiedName())
	}
	return fmt.Errorf("unknown flag: --%s%s", e.GetSpecifiedName(), didYouMean(e.GetSpecifiedName(), "--", flagNames(cmd)))
}

// DidYouMean returns a question about the word that a mistyped one most likely stands for; "" if none
// is like it.
func DidYouMean(mistyped string, words []string) string { return didYouMean(mistyped, "", words) }

func didYouMean(mistyped, prefix string, words []string) string {
	near := nearest(mistyped, words)
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

// wanted describes the values of flags, by their type. Other types describe them in their own errors.
var wanted = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint":     "a whole number, 0 or more",
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

// nearest returns the word that a mistyped one most likely stands for; "" if none is like it.
func nearest(mistyped string, words []string) string {
	const most = 2 // edits
	best, edits := "", most+1
	for _, w := range slices.Sorted(slices.Values(words)) {
		if n := distance(mistyped, w); n < edits {
			best, edits = w, n
		}
	}
	if 2*edits >= len(mistyped) {
		return ""
	}
	return best
}

// distance returns the least number of edits that turn one word into the other: a letter more, less or
// another one, or two neighbours exchanged.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			other := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				other++
			}
			rows[i][j] = min(other, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
