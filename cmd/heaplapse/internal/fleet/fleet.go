// Package fleet has the commands about many hosts: they write tables, and ask questions about them.
package fleet

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/fleet/table"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Command returns the command fleet with its subcommands.
func Command(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "judge many hosts: write rows for databases, and ask them",
		Long: `Writes what growth finds on each host as Parquet files, and answers questions about all of them
with a database that you have. heaplapse has no server: the files lie in a directory or in your
storage.

  heaplapse fleet export heaps/ -o tables/ --service shop --host web-17    for each host
  heaplapse fleet compact tables/                                          once a night
  heaplapse fleet query leaks tables/`,
		Args: help.Subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(exportCommand(c), compactCommand(c), aliasesCommand(c), queryCommand(c))
	return cmd
}

// originFlags tell where a run comes from.
type originFlags struct {
	out, service, night string
}

func (f *originFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.out, "output", "o", "", "write the tables below `DIR`")
		defineService(flags, &f.service)
		flags.StringVar(&f.night, "night", "",
			"the `DATE` that the run counts for, YYYY-MM-DD (default: that of the last snapshot, in UTC)")
	})
}

// judgeFlags are the flags of commands that judge all processes of a host.
type judgeFlags struct {
	flagset.Series
	flagset.Symbols
	flagset.Grouping
	labels []string
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		f.DefineRules(flags)
		f.Usual = "all of them"
		f.Series.Define(flags)
	})
	f.Files.Add(cmd)
	f.Demangle = "simple" // keys are those of simple names
}

// defineLabels adds --label.
func (f *judgeFlags) defineLabels(flags *pflag.FlagSet, usage string) {
	flags.StringArrayVar(&f.labels, "label", nil, usage)
}

// judgement returns how a process is judged. all includes stable sites.
func (f *judgeFlags) judge(c *console.Console, all bool) (*growthreport.Judge, error) {
	source, err := f.Source(&f.Symbols)
	if err != nil {
		return nil, err
	}
	rules, err := f.BlameRules()
	return &growthreport.Judge{
		Pipeline:  c.Pipeline(),
		Judgement: &pipeline.Judgement{Source: *source, Options: growth.Options{All: all, Rules: rules}},
	}, err
}

func defineService(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "service", "", "the `NAME` of the service: hosts of one service run the same program")
}

func defineHost(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "host", "", "the `NAME` of the host (default: that in the manifest of the recording)")
}

// hostOf returns the host that a flag names, or else the recording.
func hostOf(g *growthreport.Report, flag string) string {
	if m := g.Series.Manifest; flag == "" && m != nil && m.Recording != nil {
		return m.Recording.Host
	}
	return flag
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

func compactCommand(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "compact DIR",
		Short: "sort the files of each night into one",
		Long: `Replaces the files of each night by one, sorted by service, site and host: databases read it many
times faster. Runs may be exported meanwhile, and afterwards: the next call adds them.

  heaplapse fleet compact tables/`,
		Args: help.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return table.Compact(args[0], func(done table.Compaction) error {
				c.Say("%s: %s, %s, %s", done.Path, units.CountOf(done.Files, "file", "files"),
					units.CountOf(int(done.Rows), "row", "rows"), units.Bytes(done.Bytes))
				return output.Lines(c.Out, done.Path)
			})
		},
	}
}
