package main

import (
	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/report"
)

func (a *app) infoCommand() *cobra.Command {
	var in seriesFlags
	cmd := &cobra.Command{
		Use:   "info PATH…",
		Short: "what is in these snapshots, what is missing, what is suspect",
		Args:  somePaths,
		RunE: func(_ *cobra.Command, paths []string) error {
			if err := a.checkFormat(); err != nil {
				return err
			}
			quiet := a.quiet
			a.quiet = true // the findings are the result here
			s, err := in.open(a, paths, nil)
			a.quiet = quiet
			if err != nil {
				return err
			}
			defer s.Close()
			return a.render(&report.Info{Series: s, All: a.verbose})
		},
	}
	in.add(a, cmd)
	a.outputFlags(cmd)
	return cmd
}
