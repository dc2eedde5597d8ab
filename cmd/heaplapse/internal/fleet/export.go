package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/fleet/rows"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
)

type exportFlags struct {
	judgeFlags
	originFlags
	host, workload string
	buildSeq       int64
	memoryLimit    flagset.Size
}

func exportCommand(c *console.Console) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export PATH…",
		Short: "judge the processes of a host, and write a row for each site",
		Long: `Judges the snapshots at PATH as growth does. Each process is a run: one row in the table runs, and
one in the table sites for each function, stable ones included. The files have the same names and
bytes whenever the same run is exported: after a failure, export it again.

  heaplapse fleet export heaps/ -o tables/ --service shop --host web-17 --label canary=yes`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return writeExport(cmd.Context(), c, &f, cmd.Flags().Changed("build-seq"), paths)
		},
	}
	f.originFlags.add(cmd)
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		defineHost(flags, &f.host)
		f.defineLabels(flags, "keep `KEY=VALUE` with the run, such as a setting that differs between hosts (repeatable)")
		flags.Int64Var(&f.buildSeq, "build-seq", 0,
			"the `NUMBER` of the build, which orders builds (default: by the time that a build was first seen)")
		flags.StringVar(&f.workload, "workload", "",
			"the `NAME` of the workload (default: a hash of the recorded command line)")
		flags.Var(&f.memoryLimit, "memory-limit",
			"the process is stopped when it reaches `SIZE`, to forecast when")
	})
	f.judgeFlags.add(cmd)
	help.Levels(cmd, "output service host label night workload memory-limit process",
		"build-seq strict blame-rules binary sysroot debug-dir debuginfod perf-map")
	return cmd
}

// origin is what the flags tell about a run.
func (f *exportFlags) origin(hasSeq bool) (o rows.Origin, err error) {
	o = rows.Origin{Service: f.service, Host: f.host, Night: f.night, Workload: f.workload, Tool: build.Tool()}
	if hasSeq {
		o.BuildSeq = &f.buildSeq
	}
	o.MemoryLimit = f.memoryLimit.Bytes
	o.Labels, err = flagset.ParseLabels(f.labels)
	return o, err
}

func writeExport(ctx context.Context, c *console.Console, f *exportFlags, hasSeq bool, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	origin, err := f.origin(hasSeq)
	if err != nil {
		return err
	}
	judge, err := f.judge(c, true)
	if err != nil {
		return err
	}
	var runs []*rows.Exported
	prefixes := map[string]string{} // by run ID
	err = judge.ForEach(ctx, paths, func(g *growthreport.Report) error {
		run, err := exported(g, origin)
		if err != nil {
			return err
		}
		prefix := g.Series.Process.Prefix
		if other, known := prefixes[run.Run.RunID]; known {
			return fmt.Errorf("%s and %s have no manifest, and the same file names: export each with a --host of its own", other, prefix)
		}
		prefixes[run.Run.RunID] = prefix
		runs = append(runs, run)
		return nil
	})
	if err != nil {
		return err
	}
	if c.Failed {
		return errors.New("nothing was exported: see the errors above")
	}
	return writeRuns(c, f.out, runs)
}

// exported returns the rows of a process.
func exported(g *growthreport.Report, o rows.Origin) (*rows.Exported, error) {
	if o.Host = hostOf(g, o.Host); o.Host == "" {
		return nil, errors.New("the recording does not name its host: use --host NAME")
	}
	run, err := rows.Of(g, o)
	if errors.Is(err, rows.ErrNoNight) {
		err = fmt.Errorf("%w: use --night DATE", err)
	}
	return run, err
}

func writeRuns(c *console.Console, dir string, runs []*rows.Exported) error {
	for _, run := range runs {
		w, err := table.WriteRun(dir, run)
		if err != nil {
			return err
		}
		if w.Compacted {
			c.Say("%s: the night is compacted and has this run: fleet compact replaces its rows", w.Path)
		}
		if err := output.Lines(c.Out, w.Path); err != nil {
			return err
		}
	}
	return nil
}
