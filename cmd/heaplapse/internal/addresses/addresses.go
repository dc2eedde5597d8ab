// Package addresses has the command symbolize, which names the addresses of an ELF file.
package addresses

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/report/listing"
	"github.com/heaplapse/heaplapse/symbolize"
)

type commandFlags struct {
	output.Flags
	flagset.DebugFiles
	file, demangle string
}

// Command returns the command symbolize.
func Command(c *console.Console) *cobra.Command {
	var f commandFlags
	cmd := &cobra.Command{
		Use:   "symbolize -e FILE",
		Short: "name ELF addresses, like llvm-symbolizer",
		Long: `Reads addresses from standard input, one hexadecimal number a line, with or without 0x. Prints for
each what llvm-symbolizer -i -C --obj=FILE prints: function and file:line:column of each frame,
inlined ones first, then an empty line. Lines that are not addresses are printed unchanged.

  echo 0x1139 | heaplapse symbolize -e ./server
  heaplapse symbolize -e ./server <addresses.txt`,
		Args: help.Args(noAddresses),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), c, &f) },
	}
	help.Group(cmd, help.Addresses, func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.file, "exe", "e", "", "the ELF `FILE` that the addresses belong to (required)")
	})
	f.Flags.Add(cmd, "text", "json")
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) { flagset.DefineDemangle(flags, &f.demangle, "full") })
	flagset.Manglings.Complete(cmd)
	f.DebugFiles.Add(cmd)
	return cmd
}

// noAddresses rejects arguments, which most often are addresses.
func noAddresses(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %s: addresses are read from standard input, one a line", args[0])
	}
	return nil
}

func (f *commandFlags) options() (symbolize.Options, error) {
	if f.file == "" {
		return symbolize.Options{}, errors.New("symbolize: -e FILE is missing: the ELF file that the addresses belong to")
	}
	return f.DebugFiles.Options(f.demangle)
}

func run(ctx context.Context, c *console.Console, f *commandFlags) error {
	defer collectLess()()
	o, err := f.options()
	if err != nil {
		return err
	}
	lines, asked, addrs, err := listing.ReadAddresses(c.In)
	if err != nil {
		return err
	}
	locations, err := symbolize.ELF(ctx, f.file, addrs, o)
	for _, w := range o.Debuginfod.Warnings() {
		c.Warn(w.Error())
	}
	if locations == nil && err != nil {
		return err
	}
	if err != nil {
		c.Warn(err.Error())
	}
	for i, line := range asked {
		lines[line].Location = &locations[i]
	}
	result := &listing.Addresses{File: f.file, Lines: lines}
	if f.Format == "text" && f.ToStdout() {
		return result.Text(c.Out) // in parts: the text may be larger than all the rest
	}
	return f.Render(c.Out, result)
}

// collectLess makes the garbage collector wait for 40 MB of garbage plus half of the heap, and
// returns a function that restores the previous setting. Reading debug information makes much
// garbage, and collecting it in a small heap takes much processor time. The collector counts the
// ballast, which is never written to and so takes no memory.
func collectLess() (undo func()) {
	ballast := make([]byte, 80<<20)
	before := debug.SetGCPercent(50)
	return func() {
		debug.SetGCPercent(before)
		runtime.KeepAlive(ballast)
	}
}
