// Command testlog reads the output of `go test -json`. It prints the results of packages and what
// tests that fail have printed, as `go test` does, and in the end the ten slowest tests.
//
//	go test -json ./... | go run -C scripts ./testlog        prints that
//	go test -json ./... | go run -C scripts ./testlog -v     prints what all tests print
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// shown is how many of the slowest tests are listed.
const shown = 10

func main() {
	verbose := flag.Bool("v", false, "print what all tests print")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// name is a test of a package; test is empty for the package itself.
type name struct{ pkg, test string }

func run(in io.Reader, out io.Writer, verbose bool) error {
	printed, seconds := map[name]string{}, map[name]float64{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list(out, seconds)
		}
		if err != nil {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			e = event{Action: "build-output", Output: string(line)}
		}
		n := name{e.Package, e.Test}
		switch e.Action {
		case "output":
			printed[n] += e.Output
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "pass", "skip", "fail":
			if e.Action == "fail" && e.Test == "" {
				printUnfinished(out, printed, e.Package)
			}
			if verbose || e.Action == "fail" || e.Test == "" {
				fmt.Fprint(out, strings.TrimPrefix(printed[n], "PASS\n"))
			}
			delete(printed, n)
			seconds[n] = e.Elapsed
		}
	}
}

// printUnfinished prints what tests have printed that were running when their package crashed.
func printUnfinished(out io.Writer, printed map[name]string, pkg string) {
	for _, n := range slices.SortedFunc(maps.Keys(printed), func(a, b name) int { return cmp.Compare(a.test, b.test) }) {
		if n.pkg == pkg && n.test != "" {
			fmt.Fprint(out, printed[n])
			delete(printed, n)
		}
	}
}

// list prints the slowest tests.
func list(out io.Writer, seconds map[name]float64) error {
	total := totals(seconds)
	slowest := slices.SortedFunc(maps.Keys(total), func(a, b name) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
	fmt.Fprintln(out, "the slowest tests, in seconds:")
	for _, n := range slowest[:min(shown, len(slowest))] {
		fmt.Fprintf(out, "%8.1f  %s %s\n", total[n], n.pkg, n.test)
	}
	return nil
}

// totals returns the seconds of each test that is not part of another one. The time of a test that
// waits for parallel parts does not include theirs: the sum of the parts does.
func totals(seconds map[name]float64) map[name]float64 {
	total, parts := map[name]float64{}, map[name]float64{}
	longest := slices.SortedFunc(maps.Keys(seconds), func(a, b name) int { return cmp.Compare(len(b.test), len(a.test)) })
	for _, n := range longest {
		all := max(seconds[n], parts[n])
		if whole, isPart := parent(n, seconds); isPart {
			parts[whole] += all
		} else if n.test != "" {
			total[n] = all
		}
	}
	return total
}

// parent returns the test that a test is a part of. The name of a part may contain slashes.
func parent(n name, tests map[name]float64) (whole name, isPart bool) {
	for at := strings.LastIndex(n.test, "/"); at > 0; at = strings.LastIndex(n.test[:at], "/") {
		whole = name{n.pkg, n.test[:at]}
		if _, ok := tests[whole]; ok {
			return whole, true
		}
	}
	return name{}, false
}
