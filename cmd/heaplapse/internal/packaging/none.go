//go:build !manual

// Package packaging has the commands that packages are built with. They are left out of heaplapse
// itself, because the library that makes man pages delays the start of every command.
package packaging

import "github.com/spf13/cobra"

// AddTo adds no commands.
func AddTo(*cobra.Command) {}
