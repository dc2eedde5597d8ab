package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// Pipeline is the environment of the steps. All fields except Tell may be zero.
type Pipeline struct {
	Stdin io.Reader
	// TempDir makes a directory for the files of a bundle. The process removes it before it ends.
	TempDir func() (string, error)
	// Progress is called when a long step begins. It returns a function for its progress, and one
	// that is called at its end.
	Progress func(what string) (update func(done, all int), end func())
	// Tell is called with each problem of the input.
	Tell func(Notice)
	// Verbose reports each warning separately.
	Verbose bool
	// Live suppresses notices about files that may be half written.
	Live bool
	// Flags are those that notices and reports advise.
	Flags option.Flags
}

// Source is how snapshots are read and named, and which of their stacks count.
type Source struct {
	// Process is the PID or the prefix of one of several processes; "" is the one that is most
	// likely meant.
	Process string
	// Strict makes every problem a failure.
	Strict bool
	// Symbols has no effect on a bundle, except for Demangle.
	Symbols symbolize.Options
	// Focus and Ignore, if not nil, select stacks.
	Focus, Ignore *regexp.Regexp
}

// Input is an opened series.
type Input struct {
	*series.Series
	// Symbols and Filter are set once the addresses are named.
	Symbols *symbolize.Symbols
	Filter  *symbolize.Filter

	bundle *bundle.Bundle // nil if the snapshots were not in one
}

// ErrNothingKept is returned instead of an empty result, which would look like a passed check.
var ErrNothingKept = errors.New("no stack is left")

// Open opens the series at some paths, or in a bundle. The caller closes it.
func (p *Pipeline) Open(paths []string, o *Source, visit func(*series.Snapshot) error) (*Input, error) {
	b, err := p.openBundle(paths)
	if err != nil {
		return nil, err
	}
	so := series.Options{Process: o.Process, Visit: visit}
	if b != nil {
		paths, so.Sources = nil, b.Sources()
	}
	s, err := p.openSeries(paths, so)
	if err != nil {
		return nil, err
	}
	p.tellProblems(s, o.Strict)
	p.tellWarnings(s, o.Strict)
	return &Input{Series: s, bundle: b}, nil
}

// openSeries reads a series and shows the progress.
func (p *Pipeline) openSeries(paths []string, o series.Options) (*series.Series, error) {
	o.Stdin = p.Stdin
	update, end := p.progress("reading snapshots")
	defer end()
	o.Progress = update
	return series.Open(paths, o)
}

func (p *Pipeline) progress(what string) (update func(done, all int), end func()) {
	if p.Progress == nil {
		return func(int, int) {}, func() {}
	}
	return p.Progress(what)
}

// Resolve names the addresses of a series.
func (p *Pipeline) Resolve(ctx context.Context, in *Input, o symbolize.Options) error {
	if in.bundle != nil {
		if o.Binary != "" || o.Sysroot != "" || o.DebugDirs != nil || o.PerfMaps != nil || o.Debuginfod != nil {
			p.Tell(Notice{Kind: PlacesIgnored})
		}
		demangle := o.Demangle
		o = in.bundle.Options(in.Process)
		o.Demangle = demangle
	}
	symbols, err := symbolize.Resolve(ctx, in.Series, o)
	if err != nil {
		return err
	}
	in.Symbols = symbols
	p.tellSymbols(symbols)
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
		dir, err := p.TempDir()
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be unpacked: %w", path, err)
		}
		return bundle.Open(path, dir)
	}
	return nil, nil
}

// zstdMagic begins every bundle, and compressed snapshots as well.
const zstdMagic = "\x28\xb5\x2f\xfd"

// openBundleOnStdin copies standard input to a file if it may be a bundle. If it is not, the copy
// is read as a snapshot.
func (p *Pipeline) openBundleOnStdin() (*bundle.Bundle, error) {
	in := bufio.NewReader(p.Stdin)
	p.Stdin = in
	if head, _ := in.Peek(len(zstdMagic)); string(head) != zstdMagic {
		return nil, nil
	}
	dir, err := p.TempDir()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "standard input"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, in); err != nil {
		return nil, errors.Join(fmt.Errorf("standard input: cannot be copied: %w", err), file.Close())
	}
	if bundle.Is(file.Name()) {
		return bundle.Open(file.Name(), dir)
	}
	_, err = file.Seek(0, io.SeekStart)
	p.Stdin = file
	return nil, err
}
