package output

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// Style has the flags that tell how text looks.
type Style struct{ color, hyperlinks string }

var (
	colors     = flagset.NewChoice("color", "auto", "always", "never")
	hyperlinks = flagset.NewChoice("hyperlinks", "auto", "always", "never")
)

// Add adds the flags.
func (s *Style) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		colors.Var(flags, &s.color, "auto", "use colors `WHEN`: auto (a terminal, unless NO_COLOR is set), always or never")
		hyperlinks.Var(flags, &s.hyperlinks, "auto", "make file:line a link to the source file `WHEN`: auto (a terminal that takes links), always or never")
	})
	colors.Complete(cmd)
	hyperlinks.Complete(cmd)
}

// On returns how text looks on standard output, or elsewhere.
func (s *Style) On(stdout io.Writer, elsewhere bool) text.Style {
	var style text.Style
	if elsewhere {
		stdout = io.Discard
	}
	style.Width = terminal.Width(stdout)
	style.Color = s.color == "always" || s.color == "auto" && terminal.Colors(stdout, os.Getenv)
	if s.hyperlinks == "always" || s.hyperlinks == "auto" && terminal.Hyperlinks(stdout, os.Getenv) {
		style.URL = terminal.SourceURL()
	}
	return style
}
