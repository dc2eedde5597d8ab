package main

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/report"
	"github.com/heaplapse/heaplapse/symbolize"
)

func (a *app) symbolizeCommand() *cobra.Command {
	var file string
	var debugDirs []string
	var cache cacheFlag
	var debuginfod debuginfodFlag
	cmd := &cobra.Command{
		Use:   "symbolize -e FILE",
		Short: "names of ELF addresses, read from standard input, one hex number a line",
		Long: `Prints for each address what llvm-symbolizer -i -C --obj=FILE prints: function and
file:line:column of each frame, inlined ones first, then a blank line.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("symbolize: -e FILE is missing: the ELF file whose addresses are to be named")
			}
			if err := a.checkFormat(); err != nil {
				return err
			}
			client, err := debuginfod.client()
			if err != nil {
				return err
			}
			return a.symbolize(file, symbolize.Options{
				DebugDirs: debugDirs, Debuginfod: client, Demangle: symbolize.DemangleLLVM, CacheDir: cache.dir(),
			})
		},
	}
	cmd.Flags().StringVarP(&file, "exe", "e", "", "ELF `FILE`")
	cmd.Flags().StringArrayVar(&debugDirs, "debug-dir", nil, "look for separate debug files in `DIR` (repeatable; default /usr/lib/debug)")
	cache.add(cmd)
	debuginfod.add(cmd)
	a.outputFlags(cmd)
	return cmd
}

func (a *app) symbolize(file string, o symbolize.Options) error {
	defer collectLess()()
	lines, addrs, err := readAddresses(a.in)
	if err != nil {
		return err
	}
	locations, err := symbolize.ELF(file, addrs, o)
	for _, w := range o.Debuginfod.Warnings() {
		a.warn(w.Error())
	}
	if locations == nil && err != nil {
		return err
	}
	if err != nil {
		a.warn(err.Error())
	}
	next := 0
	for i := range lines {
		if lines[i].Text == "" {
			lines[i].Location = &locations[next]
			next++
		}
	}
	result := &report.Addresses{File: file, Lines: lines}
	if a.format == "text" && (a.output == "" || a.output == "-") {
		return result.Text(a.out) // as it comes: it may be longer than all that it is made of
	}
	return a.render(result)
}

// collectLess has the garbage collector wait for 40 MB of garbage and half of what is in use, and returns what undoes
// it. Reading debug information makes garbage: in a small heap, collecting it would take a good part of the processor time. The collector counts the ballast, which is never written to and so takes up no memory.
func collectLess() (undo func()) {
	ballast := make([]byte, 80<<20)
	before := debug.SetGCPercent(50)
	return func() {
		debug.SetGCPercent(before)
		runtime.KeepAlive(ballast)
	}
}

// readAddresses splits the input into addresses and other lines, whose text is kept.
func readAddresses(r io.Reader) (lines []report.AddressLine, addrs []uint64, err error) {
	in := bufio.NewScanner(r)
	for in.Scan() {
		text := strings.TrimSpace(in.Text())
		digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
		v, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			lines = append(lines, report.AddressLine{Text: in.Text()})
			continue
		}
		lines = append(lines, report.AddressLine{})
		addrs = append(addrs, v)
	}
	return lines, addrs, in.Err()
}
