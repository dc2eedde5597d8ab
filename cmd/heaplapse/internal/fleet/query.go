package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/fleet/query"
)

type queryFlags struct {
	output.Flags
	print, duckdb string
}

var queryEngines = flagset.NewChoice("print", query.Engines...)

func queryCommand(c *console.Console) *cobra.Command {
	var f queryFlags
	var names strings.Builder
	for _, q := range query.Questions() {
		fmt.Fprintf(&names, "\n  %-23s %s", q.Name, q.Title)
	}
	cmd := &cobra.Command{
		Use:   "query QUESTION DIR",
		Short: "ask a question about all hosts, with DuckDB",
		Long: `Answers a question about the tables below DIR with DuckDB: the command duckdb, or the package duckdb
of python3. The questions are:
` + names.String() + `

For another engine, --print writes the SQL, with the definitions of the tables. DIR is then a
location that the engine reads. duckdb, spark and clickhouse are tested, the others not.

  heaplapse fleet query leaks tables/
  heaplapse fleet query leaks s3://bucket/tables --print spark`,
		Args: help.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd.Context(), c, &f, args[0], args[1])
		},
		ValidArgsFunction: completeQuestions,
	}
	help.Group(cmd, help.Fleet, func(flags *pflag.FlagSet) {
		queryEngines.Var(flags, &f.print, "", "do not run the question: write it for `ENGINE`: "+queryEngines.String())
		program := flagset.Program(&f.duckdb, "duckdb, or of a Python that has the package duckdb")
		flags.Var(program, "duckdb", "run the `PROGRAM`: duckdb, or a Python that has the package duckdb")
	})
	queryEngines.Complete(cmd)
	f.Add(cmd, "text", "csv", "json")
	return cmd
}

// completeQuestions completes the name of a question, and then a directory.
func completeQuestions(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var names []cobra.Completion
	for _, q := range query.Questions() {
		names = append(names, cobra.CompletionWithDesc(q.Name, q.Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func ask(ctx context.Context, c *console.Console, f *queryFlags, name, dir string) error {
	q, err := query.Find(name)
	if err != nil {
		return err
	}
	if f.print != "" {
		text, err := query.Text(q, f.print, strings.TrimRight(dir, "/"))
		if err != nil {
			return err
		}
		return output.Lines(c.Out, strings.TrimSuffix(text, "\n"))
	}
	if strings.Contains(dir, "://") {
		return fmt.Errorf("%s: no directory on this machine: --print duckdb writes the question for a database that reads it", dir)
	}
	answer, err := query.Ask(ctx, q, filepath.Clean(dir), f.duckdb)
	if errors.Is(err, query.ErrNoDuckDB) {
		err = fmt.Errorf("%w: install one of them (python3 -m pip install duckdb, or the program from duckdb.org), "+
			"or print the question for another engine (--print)", err)
	}
	if err != nil {
		return err
	}
	if nights := query.FutureNights(dir, time.Now()); len(nights) > 0 {
		c.Doubt("nights in the future are ignored, because the clock of a host is wrong: " + strings.Join(nights, ", "))
	}
	return f.Render(c.Out, answer)
}
