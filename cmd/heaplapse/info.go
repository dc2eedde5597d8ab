package main

import (
	"context"
	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/listing"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

func (a *app) infoCommand() *cobra.Command {
	var in seriesFlags
	var symbols symbolFlags
	var names bool
	cmd := &cobra.Command{
		Use:   "info PATH…",
		Short: "what is in these snapshots, what is missing, what is suspect",
		Args:  somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error {
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
			info := &listing.Info{Series: s, All: a.verbose}
			if names {
				if info.Unnamed, err = a.unnamed(cmd.Context(), &symbols, s); err != nil {
					return err
				}
			}
			return a.render(info)
		},
	}
	in.add(a, cmd)
	symbols.add(cmd)
	cmd.Flags().BoolVar(&names, "symbols", false, "also say which names are missing, how much memory that hides, and what would help")
	a.outputFlags(cmd)
	return cmd
}

// unnamed says what of the last snapshot has no name.
func (a *app) unnamed(ctx context.Context, f *symbolFlags, s *series.Series) (*siteview.Unnamed, error) {
	symbols, err := f.resolve(ctx, a, s)
	if err != nil {
		return nil, err
	}
	unnamed := siteview.NewUnnamed(symbols, nil)
	snap, err := s.Read(len(s.Heads) - 1)
	if err != nil {
		return nil, err
	}
	for _, row := range snap.Samples {
		unnamed.Add(row.Stack, row.Estimate(snap.Period).InuseBytes)
	}
	return unnamed.Done(), nil
}
