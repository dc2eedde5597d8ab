package main

import (
	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
)

// guardName is the command by which heaplapse is the guard of another heaplapse.
const guardName = "guard"

// newGuard returns what removes the copies of processes if heaplapse is killed.
func newGuard() *snapshot.Guard { return &snapshot.Guard{Args: []string{"heaplapse", guardName}} }

func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardName,
		Short:  "remove copies of processes when the heaplapse that has made them is killed",
		Hidden: true,
		Args:   help.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			snapshot.Watch(cmd.InOrStdin())
			return nil
		},
	}
}
