package completion

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// running completes the number of a running process, with its name. There are none where the system
// has no /proc.
func running(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	paths, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is valid
	for _, path := range paths {
		pid := filepath.Base(filepath.Dir(path))
		name, err := os.ReadFile(path)
		if err == nil && pid != strconv.Itoa(os.Getpid()) {
			out = append(out, cobra.CompletionWithDesc(pid, strings.TrimSpace(string(name))))
		}
	}
	return printed(out), cobra.ShellCompDirectiveNoFileComp
}
