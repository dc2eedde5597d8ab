package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/units"
)

func (a *app) fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "judge many hosts: write rows for databases, and ask them",
		Long: `Writes what growth finds on each host as Parquet files, and answers questions about all of them
with a database that you have. heaplapse has no server: the files lie in a directory or in your
storage.

  heaplapse fleet export heaps/ -o tables/ --service shop --host web-17    for each host
  heaplapse fleet compact tables/                                          once a night
  heaplapse fleet query leaks tables/`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.fleetExportCommand(), a.fleetCompactCommand(), a.fleetAliasesCommand(), a.fleetQueryCommand())
	return cmd
}

// originFlags tell where a run comes from.
type originFlags struct {
	out, service, night string
}

func (f *originFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.out, "output", "o", "", "write the tables below `DIR`")
		flags.StringVar(&f.service, "service", "", "the `NAME` of the service: hosts of one service run the same program")
		flags.StringVar(&f.night, "night", "", "the `DATE` that the run counts for, YYYY-MM-DD (default: that of the last snapshot, in UTC)")
	})
}

func (f *originFlags) check() error {
	switch {
	case f.out == "":
		return errors.New("no -o DIR given: name the directory of the tables")
	case f.service == "":
		return errors.New("no --service NAME given: sites are compared between the hosts of a service")
	case f.night != "":
		if err := table.CheckNight(f.night); err != nil {
			return fmt.Errorf("--night %w", err)
		}
	}
	return nil
}

type exportFlags struct {
	flagset.Series
	flagset.Symbols
	flagset.Grouping
	originFlags
	host, workload string
	buildSeq       int64
	memoryLimit    string
	labels         []string
}

func (a *app) fleetExportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export PATH…",
		Short: "judge the processes of a host, and write a row for each site",
		Long: `Judges the snapshots at PATH as growth does. Each process is a run: one row in the table runs, and
one in the table sites for each function, stable ones included. The files have the same names and
bytes whenever the same run is exported: after a failure, export it again.

  heaplapse fleet export heaps/ -o tables/ --service shop --host web-17 --label canary=yes`,
		Args: some(noPath),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return a.fleetExport(cmd.Context(), &f, cmd.Flags().Changed("build-seq"), paths)
		},
	}
	f.originFlags.add(cmd)
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.host, "host", "", "the `NAME` of the host (default: that in the manifest of the recording)")
		flags.StringArrayVar(&f.labels, "label", nil, "keep `KEY=VALUE` with the run, such as a setting that differs between hosts (repeatable)")
		flags.Int64Var(&f.buildSeq, "build-seq", 0, "the `NUMBER` of the build, which orders builds (default: by the time that a build was first seen)")
		flags.StringVar(&f.workload, "workload", "", "the `NAME` of the workload (default: a hash of the recorded command line)")
		flags.StringVar(&f.memoryLimit, "memory-limit", "", "the process is stopped when it reaches `SIZE`, to forecast when")
	})
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		f.DefineRules(flags)
		f.AllProcesses = true
		f.Series.Define(flags)
	})
	f.Files.Add(cmd)
	f.Demangle = "simple" // keys are those of simple names
	return cmd
}

// origin is what the flags tell about a run.
func (f *exportFlags) origin(hasSeq bool) (o rows.Origin, err error) {
	o = rows.Origin{Service: f.service, Host: f.host, Night: f.night, Workload: f.workload, Tool: build.Tool()}
	if hasSeq {
		o.BuildSeq = &f.buildSeq
	}
	if f.memoryLimit != "" {
		if o.MemoryLimit, err = units.ParseBytes(f.memoryLimit); err != nil {
			return o, fmt.Errorf("--memory-limit: %w", err)
		}
	}
	o.Labels, err = parseLabels(f.labels)
	return o, err
}

// parseLabels returns the labels of the flag --label.
func parseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range list {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--label %s: want KEY=VALUE", l)
		}
		labels[key] = value
	}
	return labels, nil
}

func (a *app) fleetExport(ctx context.Context, f *exportFlags, hasSeq bool, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	origin, err := f.origin(hasSeq)
	if err != nil {
		return err
	}
	source, err := f.Source(&f.Symbols)
	if err != nil {
		return err
	}
	rules, err := f.BlameRules()
	if err != nil {
		return err
	}
	o := &pipeline.Judgement{Source: *source, Options: growth.Options{All: true, Rules: rules}}
	var runs []*rows.Exported
	err = a.pipeline().JudgeEach(ctx, paths, o, func(g *growthreport.Report) error {
		run, err := exported(g, origin)
		if err == nil {
			runs = append(runs, run)
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.status == exitFailure {
		return errors.New("nothing was exported: see the errors above")
	}
	return a.writeRuns(f.out, runs)
}

// exported returns the rows of a process.
func exported(g *growthreport.Report, o rows.Origin) (*rows.Exported, error) {
	if m := g.Series.Manifest; o.Host == "" && m != nil && m.Recording != nil {
		o.Host = m.Recording.Host
	}
	if o.Host == "" {
		return nil, errors.New("the recording does not name its host: use --host NAME")
	}
	run, err := rows.Of(g, o)
	if errors.Is(err, rows.ErrNoNight) {
		err = fmt.Errorf("%w: use --night DATE", err)
	}
	return run, err
}

func (a *app) writeRuns(dir string, runs []*rows.Exported) error {
	for _, run := range runs {
		w, err := table.WriteRun(dir, run)
		if err != nil {
			return err
		}
		if w.Compacted {
			a.say("%s: the night is compacted and has this run: fleet compact replaces its rows", w.Path)
		}
		if err := output.Lines(a.out, w.Path); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) fleetCompactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact DIR",
		Short: "sort the files of each night into one",
		Long: `Replaces the files of each night by one, sorted by service, site and host: databases read it many
times faster. Runs may be exported meanwhile, and afterwards: the next call adds them.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return table.Compact(args[0], func(c table.Compaction) error {
				a.say("%s: %s, %s, %s", c.Path, units.CountOf(c.Files, "file", "files"),
					units.CountOf(int(c.Rows), "row", "rows"), units.Bytes(c.Bytes))
				return output.Lines(a.out, c.Path)
			})
		},
	}
}

type aliasFlags struct {
	summaryFlags
	originFlags
	force bool
}

func (a *app) fleetAliasesCommand() *cobra.Command {
	var f aliasFlags
	cmd := &cobra.Command{
		Use:   "aliases OLD NEW",
		Short: "find functions that a new build has renamed, split or moved",
		Long: `Compares a run of an old build with one of a new build, as gate does: snapshots or files of
baselines, of any host. Writes the functions that go on under another name to the table aliases, so
that questions about several builds find them.

  heaplapse fleet aliases web-17/old/ web-17/new/ -o tables/ --service shop`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.fleetAliases(cmd.Context(), &f, args[0], args[1])
		},
	}
	f.originFlags.add(cmd)
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.force, "force", false, "compare runs of different workloads, formats or sampling periods")
	})
	f.summaryFlags.add(cmd)
	return cmd
}

func (a *app) fleetAliases(ctx context.Context, f *aliasFlags, before, after string) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.summary()
	if err != nil {
		return err
	}
	earlier, err := a.pipeline().ReadRun(ctx, before, o)
	if err != nil {
		return err
	}
	current, err := a.pipeline().ReadRun(ctx, after, o)
	if err != nil {
		return err
	}
	if a.status == exitFailure {
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
		a.say("%s: now %s, %s", r.OldFunction, r.NewFunction, units.Bytes(r.Bytes))
	}
	path, err := table.WriteAliases(f.out, origin, earlier.Meta.BuildID, current.Meta.BuildID, found)
	if err != nil {
		return err
	}
	return output.Lines(a.out, path)
}
