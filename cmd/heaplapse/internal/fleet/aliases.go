package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	"github.com/heaplapse/heaplapse/internal/units"
)

type aliasFlags struct {
	flagset.Run
	originFlags
	force bool
}

func aliasesCommand(c *console.Console) *cobra.Command {
	var f aliasFlags
	cmd := &cobra.Command{
		Use:   "aliases OLD NEW",
		Short: "find functions that a new build has renamed, split or moved",
		Long: `Compares a run of an old build with one of a new build, as gate does: snapshots or files of
baselines, of any host. Writes the functions that go on under another name to the table aliases, so
that questions about several builds find them.

  heaplapse fleet aliases web-17/old/ web-17/new/ -o tables/ --service shop`,
		Args: help.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeAliases(cmd.Context(), c, &f, args[0], args[1])
		},
	}
	f.originFlags.add(cmd)
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.force, "force", false, "compare runs of different workloads, formats or sampling periods")
	})
	f.Run.Add(cmd)
	help.Levels(cmd, "output service night workload work process force",
		"strict blame-rules snapshots max-memory binary sysroot debug-dir debuginfod perf-map")
	return cmd
}

func writeAliases(ctx context.Context, c *console.Console, f *aliasFlags, before, after string) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.Summary()
	if err != nil {
		return err
	}
	earlier, err := c.Pipeline().ReadRun(ctx, before, o)
	if err != nil {
		return err
	}
	current, err := c.Pipeline().ReadRun(ctx, after, o)
	if err != nil {
		return err
	}
	if c.Failed {
		return errors.New("nothing was written: see the errors above")
	}
	list, err := gate.Aliases(earlier, current, gate.Options{Force: f.force})
	if err != nil {
		return err
	}
	night := f.night
	if night == "" {
		if current.Meta.Recorded.IsZero() {
			return fmt.Errorf("%w: use --night DATE", rows.ErrNoNight)
		}
		night = current.Meta.Recorded.UTC().Format("2006-01-02")
	}
	origin := rows.Origin{Service: f.service, Night: night}
	found := rows.Aliases(list, origin, earlier.Meta.BuildID, current.Meta.BuildID)
	for _, r := range found {
		c.Say("%s: now %s, %s", r.OldFunction, r.NewFunction, units.Bytes(r.Bytes))
	}
	path, err := table.WriteAliases(f.out, origin, earlier.Meta.BuildID, current.Meta.BuildID, found)
	if err != nil {
		return err
	}
	return output.Lines(c.Out, path)
}
