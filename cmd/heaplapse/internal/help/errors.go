package help

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Error words an error in flags and arguments, and adds a reference to the help.
func Error(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		if near := nearest(unknown.GetSpecifiedName(), flagNames(cmd)); near != "" {
			err = fmt.Errorf("%w: did you mean --%s?", err, near)
		}
	case errors.As(err, &invalid) && wanted[invalid.GetFlag().Value.Type()] != "":
		f := invalid.GetFlag()
		err = fmt.Errorf("--%s %s: want %s", f.Name, invalid.GetValue(), wanted[f.Value.Type()])
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
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
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
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
