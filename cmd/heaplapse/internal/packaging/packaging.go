//go:build manual

// Package packaging has the commands that packages are built with.
package packaging

import (
	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/manual"
)

// AddTo adds the commands.
func AddTo(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use:    "manual DIR",
		Short:  "write the man pages into a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, at := build.Source()
			return manual.Write(root, manual.Build{Version: build.Version(), Date: at}, args[0])
		},
	})
}
