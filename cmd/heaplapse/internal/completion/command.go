package completion

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
)

// Name is the name of the command.
const Name = "completion"

// AddCommand adds the command completion. cobra writes the scripts; the texts are ours.
func AddCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != Name {
			continue
		}
		c.Short = "print a shell completion script"
		c.Long = `Prints the script that makes a shell complete the commands, flags and arguments of heaplapse.

  heaplapse completion bash > /etc/bash_completion.d/heaplapse
  source <(heaplapse completion bash)     in this shell; in ~/.bashrc: in every new one`
		c.Args, c.RunE = help.Subcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range c.Commands() {
			describe(shell)
		}
	}
}

// describe replaces the texts of the command of a shell.
func describe(cmd *cobra.Command) {
	shell := shells[cmd.Name()]
	cmd.Short = "print the completion script for " + shell.name
	cmd.Long = fmt.Sprintf("Prints the completion script for %s.%s\n\n%s", shell.name, shell.note, shell.examples)
	cmd.Args = help.Between(0, 0)
	cmd.DisableFlagsInUseLine = true
	if f := cmd.Flags().Lookup("no-descriptions"); f != nil {
		f.Usage = "complete words without descriptions"
	}
}

// shells describe the commands by their names.
var shells = map[string]struct{ name, note, examples string }{
	"bash": {"bash", " It needs the package bash-completion.", `  source <(heaplapse completion bash)     in this shell; in ~/.bashrc: in every new one
  heaplapse completion bash > /etc/bash_completion.d/heaplapse`},
	"zsh": {"zsh", " It needs compinit: autoload -U compinit; compinit.", `  source <(heaplapse completion zsh)      in this shell; in ~/.zshrc: in every new one
  heaplapse completion zsh > "${fpath[1]}/_heaplapse"`},
	"fish": {"fish", "", `  heaplapse completion fish | source      in this shell
  heaplapse completion fish > ~/.config/fish/completions/heaplapse.fish`},
	"powershell": {"PowerShell", " Its profile loads it into every new shell.", `
  heaplapse completion powershell | Out-String | Invoke-Expression`[1:]},
}
