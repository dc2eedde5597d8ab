// Command testrun runs the tests of both modules. It prints the results of packages and what tests
// that fail have printed, as `go test` does, and in the end the ten slowest tests.
//
//	go run -C scripts ./testrun FLAGS... -- PACKAGES... -- PACKAGES...
//
// The flags are those of `go test`. The packages are those of the product, then those of scripts.
//
// A few tests that fail run again, three times, when nothing else runs. If they pass then, they
// depend on what else the machine did: testrun names them as tests to be mended, and succeeds. A
// data race, a panic, or a package that cannot be built is not tried again.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const (
	// shown is how many of the slowest tests are listed.
	shown = 10
	// mostAgain is how many tests at most run again. If more fail, the code is at fault.
	mostAgain = 5
	// timesAgain is how often a test has to pass then.
	timesAgain = "3"
)

func main() {
	s, err := parse(os.Args[1:])
	if err == nil {
		err = s.run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// suite is what to test: packages of modules, with the flags of go test.
type suite struct {
	flags    []string
	dirs     []string // of the modules, from the directory of scripts
	packages [][]string
}

// parse separates the flags of go test from the packages of each module.
func parse(args []string) (suite, error) {
	s := suite{dirs: []string{"..", "."}}
	first := slices.Index(args, "--")
	if first < 0 {
		return s, errors.New("usage: testrun FLAGS... -- PACKAGES... -- PACKAGES")
	}
	flags, rest := args[:first], args[first+1:]
	second := slices.Index(rest, "--")
	if second < 0 {
		return s, errors.New("the packages of scripts are missing: -- PACKAGES")
	}
	s.flags, s.packages = flags, [][]string{rest[:second], rest[second+1:]}
	return s, nil
}

// run runs the tests, and those that failed again.
func (s suite) run(out io.Writer) error {
	verbose := slices.Contains(s.flags, "-v")
	logs := make([]*log, len(s.dirs))
	seconds := map[name]float64{}
	for i, dir := range s.dirs {
		logs[i] = newLog(verbose)
		if len(s.packages[i]) == 0 {
			continue
		}
		if err := logs[i].follow(out, dir, slices.Concat(s.flags, s.packages[i])); err != nil {
			return err
		}
		maps.Copy(seconds, logs[i].seconds)
	}
	list(out, seconds)
	return s.again(out, logs)
}

// again runs the tests that failed one after the other, and returns an error unless all pass.
func (s suite) again(out io.Writer, logs []*log) error {
	failed := 0
	for _, l := range logs {
		if l.broken {
			return errors.New("tests failed")
		}
		failed += len(l.failed)
	}
	if failed > mostAgain {
		return fmt.Errorf("%d tests failed", failed)
	}
	for i, l := range logs {
		for _, n := range l.failed {
			fmt.Fprintf(out, "testrun: %s of %s failed, and runs again alone\n", n.test, n.pkg)
			alone := newLog(false)
			args := []string{"-count", timesAgain, "-p", "1", "-run", pattern(n.test), n.pkg}
			if err := alone.follow(out, s.dirs[i], slices.Concat(s.flags, args)); err != nil {
				return err
			}
			if alone.broken || len(alone.failed) > 0 {
				return fmt.Errorf("%s failed again", n.test)
			}
		}
	}
	for _, l := range logs {
		for _, n := range l.failed {
			fmt.Fprintf(out, "testrun: %s of %s failed beside other tests and passed alone: mend it\n", n.test, n.pkg)
		}
	}
	return nil
}

// pattern returns the value of -run for one test or part of a test.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// name is a test of a package; test is empty for the package itself.
type name struct{ pkg, test string }

// cannotPassLater matches what a test prints that has found a fault for certain, or has ended the
// others of its package.
var cannotPassLater = regexp.MustCompile(`(?m)^(\s*WARNING: DATA RACE|panic: |fatal error: )`)

// log is what `go test -json` has told.
type log struct {
	verbose bool
	printed map[name]string
	seconds map[name]float64
	failed  []name // the tests that failed, without those whose parts did
	broken  bool   // something failed that does not depend on the machine
}

func newLog(verbose bool) *log {
	return &log{verbose: verbose, printed: map[name]string{}, seconds: map[name]float64{}}
}

// follow runs go test in a directory, and prints what it tells. It returns an error if go test cannot
// be run, or fails without having told of a test or a package that did.
func (l *log) follow(out io.Writer, dir string, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := l.read(stdout, out); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil && !l.broken && len(l.failed) == 0 {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// read reads the output of go test -json to its end, and prints it.
func (l *log) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			e = event{Action: "build-output", Output: string(line)}
		}
		l.add(e, out)
	}
}

func (l *log) add(e event, out io.Writer) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "output":
		l.printed[n] += e.Output
	case "build-output", "build-fail":
		l.broken = l.broken || e.Action == "build-fail"
		fmt.Fprint(out, e.Output)
	case "pass", "skip", "fail":
		if e.Action == "fail" {
			l.fail(n, out)
		}
		if l.verbose || e.Action == "fail" || e.Test == "" {
			fmt.Fprint(out, strings.TrimPrefix(l.printed[n], "PASS\n"))
		}
		delete(l.printed, n)
		l.seconds[n] = e.Elapsed
	}
}

// fail notes that a test or a package failed. Parts of a test fail before the test.
func (l *log) fail(n name, out io.Writer) {
	l.broken = l.broken || cannotPassLater.MatchString(l.printed[n])
	if n.test == "" {
		l.broken = l.broken || !slices.ContainsFunc(l.failed, func(f name) bool { return f.pkg == n.pkg })
		l.printUnfinished(out, n.pkg)
		return
	}
	isPart := func(f name) bool { return f.pkg == n.pkg && strings.HasPrefix(f.test, n.test+"/") }
	if !slices.ContainsFunc(l.failed, isPart) {
		l.failed = append(l.failed, n)
	}
}

// printUnfinished prints what tests have printed that were running when their package crashed.
func (l *log) printUnfinished(out io.Writer, pkg string) {
	for _, n := range slices.SortedFunc(maps.Keys(l.printed), func(a, b name) int { return cmp.Compare(a.test, b.test) }) {
		if n.pkg == pkg && n.test != "" {
			l.broken = true
			fmt.Fprint(out, l.printed[n])
			delete(l.printed, n)
		}
	}
}

// list prints the slowest tests.
func list(out io.Writer, seconds map[name]float64) {
	total := totals(seconds)
	slowest := slices.SortedFunc(maps.Keys(total), func(a, b name) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
	fmt.Fprintln(out, "the slowest tests, in seconds:")
	for _, n := range slowest[:min(shown, len(slowest))] {
		fmt.Fprintf(out, "%8.1f  %s %s\n", total[n], n.pkg, n.test)
	}
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
