package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/spool"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// Pipeline is the environment of the steps. All fields except Tell may be zero.
type Pipeline struct {
	Stdin io.Reader
	// Waiting is called with the path of a pipe that delivers nothing.
	Waiting func(path string)
	// Progress is called when a long step begins. It returns a function for its progress, and one
	// that is called at its end.
	Progress func(what string) (update func(done, all int), end func())
	// Tell is called with each problem of the input.
	Tell func(Notice)
	// Verbose reports each warning separately.
	Verbose bool
	// Live suppresses notices about files that may be half written.
	Live bool
}

// DefaultSnapshots is the default of [Source.Snapshots].
const DefaultSnapshots = series.DefaultSnapshots

// Source is how snapshots are read and named, and which of their stacks count.
type Source struct {
	// Process is the PID or the prefix of one of several processes; "" is the one that is most
	// likely meant. Of two recordings that are compared, it may be one of each, as in "4711,4712".
	Process string
	// Snapshots is the number of snapshots to make of a recording of all allocations; 0 means
	// DefaultSnapshots.
	Snapshots int
	// Strict makes every problem a failure.
	Strict bool
	// Check, if not nil, ends the reading of snapshots by an error. It is called for each MiB, and
	// with the number of bytes before many are allocated.
	Check func(more int64) error
	// Symbols complements a bundle, which has no cache.
	Symbols symbolize.Options
	// Ages is that of [series.Options].
	Ages series.Ages
	// Focus and Ignore, if not nil, select stacks.
	Focus, Ignore *regexp.Regexp
}

// Input is an opened series.
type Input struct {
	*series.Series
	// Symbols and Filter are set once the addresses are named.
	Symbols *symbolize.Symbols
	Filter  *symbolize.Filter

	recording *Recording
}

// Recording is the processes whose snapshots were found.
type Recording struct {
	*series.Recording

	bundle *bundle.Bundle // nil if the snapshots were not in one
	names  bundle.NameFiles
}

// ErrNothingKept is returned instead of an empty result, which would look like a passed check.
var ErrNothingKept = errors.New("no stack is left")

// visitor is called with each snapshot while it is read; may be nil.
type visitor = func(*series.Snapshot) error

// Find finds the snapshots at some paths, or in a bundle. The caller closes the recording.
func (p *Pipeline) Find(paths []string, from *Source) (*Recording, error) {
	paths = snapshotsAmong(paths)
	b, err := p.openBundle(paths)
	if err != nil {
		return nil, err
	}
	o := series.Options{Stdin: p.Stdin, Waiting: p.Waiting, Snapshots: from.Snapshots, Check: from.Check}
	if b != nil {
		paths, o.Sources, o.FS = nil, b.Sources(), b.FS()
	}
	r, err := series.Find(paths, o)
	if err != nil {
		return nil, errors.Join(err, closeBundle(b))
	}
	return &Recording{Recording: r, bundle: b}, nil
}

// Close frees the space of copies of the input.
func (r *Recording) Close() error {
	return errors.Join(r.Recording.Close(), closeBundle(r.bundle), r.names.Close())
}

func closeBundle(b *bundle.Bundle) error {
	if b == nil {
		return nil
	}
	return b.Close()
}

// Open opens the series of one process at some paths, or in a bundle. The caller closes it.
func (p *Pipeline) Open(paths []string, o *Source, visit visitor) (*Input, error) {
	r, err := p.Find(paths, o)
	if err != nil {
		return nil, err
	}
	in, err := p.openOne(r, o, visit)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return in, nil
}

// openOne opens the series of the process that is chosen, or most likely meant.
func (p *Pipeline) openOne(r *Recording, o *Source, visit visitor) (*Input, error) {
	s, err := p.reading(o, visit, r.OpenOne)
	if err != nil {
		return nil, err
	}
	p.tellProblems(s.Problems, o.Strict)
	p.tellWarnings(s, o.Strict)
	return &Input{Series: s, recording: r}, nil
}

// openProcess opens the series of one of several processes, which its notices name.
func (p *Pipeline) openProcess(
	r *Recording,
	process int,
	o *Source,
	visit visitor,
) (*Input, error) {
	s, err := p.reading(o, visit, func(so series.Options) (*series.Series, error) { return r.Open(process, so) })
	if err != nil {
		return nil, err
	}
	p.tellProblems(s.Problems, o.Strict)
	p.tellWarningsOf(s, o.Strict)
	return &Input{Series: s, recording: r}, nil
}

// mainFirst are the indices of the processes, that of the main one first.
func (r *Recording) mainFirst() []int {
	order := []int{r.Main}
	for i := range r.Processes {
		if i != r.Main {
			order = append(order, i)
		}
	}
	return order
}

// reading opens a series and shows the progress.
func (p *Pipeline) reading(
	o *Source,
	visit visitor,
	open func(series.Options) (*series.Series, error),
) (*series.Series, error) {
	update, end := p.progress("reading snapshots")
	defer end()
	return open(series.Options{
		Process: o.Process, Ages: o.Ages, Visit: visit, Check: o.Check, Progress: update,
	})
}

// FromBundle reports whether the series is that of a bundle.
func (in *Input) FromBundle() bool { return in.recording.bundle != nil }

// Close frees the space of copies of the input.
func (in *Input) Close() error { return in.recording.Close() }

func (p *Pipeline) progress(what string) (update func(done, all int), end func()) {
	if p.Progress == nil {
		return func(int, int) {}, func() {}
	}
	return p.Progress(what)
}

// Program returns the main program of a series: see [symbolize.Program].
func (in *Input) Program(ctx context.Context, o symbolize.Options) *symbolize.Module {
	places, _ := in.places(o) // Resolve tells the error
	return symbolize.Program(ctx, in.Series, places)
}

// places returns the options that name addresses, for a series that may be in a bundle, or have one with its names.
// They are usable also with an error, which is about the names.
func (in *Input) places(o symbolize.Options) (symbolize.Options, error) {
	if b := in.recording.bundle; b != nil {
		return b.OptionsWith(in.Process, o), nil
	}
	if o.Sysroot == "" {
		o.Sysroot = otherRoot(in.PID(), symbolize.MainProgram(in.Series))
	}
	if o.Sysroot != "" {
		return o, nil
	}
	names, err := in.recording.names.In(in.Dir())
	if names != nil {
		return names.Options(in.Dir(), o), nil
	}
	return o, err
}

// otherRoot returns the root directory of a process that runs the program in another one than ours,
// such as in a container: its files are there. It returns "" if there is no such process.
func otherRoot(pid int, program string) string {
	root, exe := fmt.Sprintf("/proc/%d/root", pid), fmt.Sprintf("/proc/%d/exe", pid)
	if atomicfile.SameFile(root, "/") || !atomicfile.SameFile(root+program, exe) {
		return ""
	}
	return root
}

// Resolve names the addresses of a series.
func (p *Pipeline) Resolve(ctx context.Context, in *Input, o symbolize.Options) error {
	places, unusable := in.places(o)
	symbols, err := symbolize.Resolve(ctx, in.Series, places)
	if err != nil {
		return err
	}
	in.Symbols = symbols
	if unusable != nil {
		p.Tell(Notice{Kind: UnusableNames, Subject: in.Dir(), Text: unusable.Error()})
	}
	p.tellSymbols(symbols)
	if len(in.recording.Processes) == 1 { // others may need the files
		p.tellDebugFiles(symbols, o.DebugDirs)
	}
	return nil
}

// Name names the addresses of a series and selects stacks.
func (p *Pipeline) Name(ctx context.Context, in *Input, o *Source) error {
	if err := p.Resolve(ctx, in, o.Symbols); err != nil {
		return err
	}
	in.Filter = symbolize.NewFilter(in.Symbols, o.Focus, o.Ignore)
	return nil
}

// snapshotsAmong returns the paths without what recorders write beside snapshots, which "recording/*" matches in a
// shell, if any others are left.
func snapshotsAmong(paths []string) []string {
	beside := func(path string) bool { return manifest.IsBeside(filepath.Base(path)) }
	left := slices.DeleteFunc(slices.Clone(paths), beside)
	if len(left) == 0 {
		return paths
	}
	return left
}

// openBundle unpacks the bundle among some paths. It returns nil if there is none.
func (p *Pipeline) openBundle(paths []string) (*bundle.Bundle, error) {
	if len(paths) == 1 && paths[0] == "-" && p.Stdin != nil {
		return p.openBundleOnStdin()
	}
	for _, path := range paths {
		if !bundle.Is(path) {
			continue
		}
		if len(paths) > 1 {
			return nil, fmt.Errorf("%s: a bundle cannot be read together with other PATHs", path)
		}
		return bundle.Open(path)
	}
	return nil, nil
}

// recognizable is the number of bytes that show whether a stream is a bundle: a block of zstd has
// at most 128 KiB.
const recognizable = 256 << 10

// openBundleOnStdin opens the bundle on standard input. It returns nil if there is something else,
// which can still be read from p.Stdin.
func (p *Pipeline) openBundleOnStdin() (*bundle.Bundle, error) {
	const name = "standard input"
	in := bufio.NewReaderSize(p.Stdin, recognizable)
	p.Stdin = in
	head, _ := in.Peek(recognizable) // an error comes again
	if !bundle.Begins(bytes.NewReader(head)) {
		return nil, nil
	}
	archive, err := spool.New() // the limit of its content depends on its size
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be copied: %w", name, err)
	}
	defer archive.Close()
	if err := archive.Add(name, time.Time{}, in); err != nil {
		return nil, fmt.Errorf("%s: cannot be copied: %w", name, err)
	}
	file, err := archive.File(name)
	if err != nil {
		return nil, err
	}
	return bundle.Read(file, file.Size(), name)
}
