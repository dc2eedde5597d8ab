package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/internal/report/listing"
	"github.com/heaplapse/heaplapse/symbolize"
)

func (a *app) symbolizeCommand() *cobra.Command {
	var file, demangle string
	var debugDirs []string
	var cache cacheFlag
	var debuginfod debuginfodFlag
	cmd := &cobra.Command{
		Use:   "symbolize -e FILE",
		Short: "names of ELF addresses, read from standard input, one hex number a line",
		Long: `Prints for each address what llvm-symbolizer -i -C --obj=FILE prints: function and
file:line:column of each frame, inlined ones first, then a blank line. Numbers are
hexadecimal, with 0x or without; a line that is no address is given back.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("symbolize: -e FILE is missing: the ELF file whose addresses are to be named")
			}
			if err := a.checkFormat(); err != nil {
				return err
			}
			mode, err := demangleMode(demangle)
			if err != nil {
				return err
			}
			client, err := debuginfod.client()
			if err != nil {
				return err
			}
			return a.symbolize(cmd.Context(), file, symbolize.Options{
				DebugDirs: debugDirs, Debuginfod: client, Demangle: mode, CacheDir: cache.dir(),
			})
		},
	}
	cmd.Flags().StringVarP(&file, "exe", "e", "", "ELF `FILE`")
	cmd.Flags().StringArrayVar(&debugDirs, "debug-dir", nil, "look for separate debug files in `DIR` (repeatable; default /usr/lib/debug)")
	cmd.Flags().StringVar(&demangle, "demangle", "full", "C++ and Rust names: full (as llvm-symbolizer -C), simple (no parameters) or none")
	_ = cmd.RegisterFlagCompletionFunc("demangle", cobra.FixedCompletions([]string{"full", "simple", "none"}, cobra.ShellCompDirectiveNoFileComp))
	cache.add(cmd)
	debuginfod.add(cmd)
	a.outputFlags(cmd)
	return cmd
}

func (a *app) symbolize(ctx context.Context, file string, o symbolize.Options) error {
	defer collectLess()()
	lines, asked, addrs, err := readAddresses(a.in)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, o.Debuginfod)
	defer stop()
	locations, err := symbolize.ELF(ctx, file, addrs, o)
	for _, w := range o.Debuginfod.Warnings() {
		a.warn(w.Error())
	}
	if locations == nil && err != nil {
		return orInterrupted(err)
	}
	if err != nil {
		a.warn(err.Error())
	}
	for i, line := range asked {
		lines[line].Location = &locations[i]
	}
	result := &listing.Addresses{File: file, Lines: lines}
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

// maxAddressLine is how much llvm-symbolizer reads of a line at once, in bytes. What is longer counts as several lines.
const maxAddressLine = 1023

// readAddresses reads the input: lines[asked[i]] is the address addrs[i], the other lines have their text.
func readAddresses(r io.Reader) (lines []listing.AddressLine, asked []int, addrs []uint64, err error) {
	in := bufio.NewReaderSize(r, maxAddressLine)
	for err == nil {
		var raw []byte
		raw, err = in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(raw) == 0 {
			break
		}
		line := lineEnds.Replace(string(raw))
		if v, ok := parseAddress(line); ok {
			asked, addrs = append(asked, len(lines)), append(addrs, v)
			line = ""
		}
		lines = append(lines, listing.AddressLine{Text: line})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return lines, asked, addrs, err
}

// lineEnds drops the ends of lines, also DOS's.
var lineEnds = strings.NewReplacer("\r", "", "\n", "")

// parseAddress decodes `0x401136`, `401136`, `CODE 0x401136 and what follows`. All are hexadecimal, as nm prints them; for
// llvm-symbolizer, 401136 is a decimal number and 0401136 an octal one.
func parseAddress(line string) (uint64, bool) {
	line = strings.TrimPrefix(line, "CODE ")
	word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	digits := word
	if len(word) > 2 && (word[:2] == "0x" || word[:2] == "0X") {
		digits = word[2:]
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}
