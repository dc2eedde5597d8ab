package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// Summary is how the snapshots of a run become its summary.
type Summary struct {
	Source
	summary.Options
	Words
}

// Words put into words what a run keeps as text.
type Words struct {
	// Held is what holds nearly all blocks of a site; "" if that is not one thing.
	Held func(answer.Held) string
	// Range are notes on the snapshots that count, Pooled a note on the processes that are added up,
	// and on those that are left out.
	Range  func(sites.Range) []string
	Pooled func(processes, left int) string
}

// Summarize returns the summary of the snapshots at some paths: of the process that is chosen, else
// of all processes. Its name is that of the paths, and the recorded command line is added to the
// options.
func (p *Pipeline) Summarize(ctx context.Context, paths []string, o *Summary) (*baseline.Run, error) {
	r, err := p.Find(paths, &o.Source)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	summarize := summarizing{p, o.Options, &o.Source, o.Words}
	summarize.options.Name = strings.Join(paths, " ")
	if o.Process == "" && len(r.Processes) > 1 {
		return summarize.all(ctx, r)
	}
	return summarize.process(ctx, func(visit visitor) (*Input, error) { return p.openOne(r, &o.Source, visit) })
}

// summarizing is how a recording is summarized.
type summarizing struct {
	*Pipeline
	options summary.Options
	source  *Source
	words   Words
}

// all adds up the processes of a recording. It leaves out those with a single snapshot, and those
// whose snapshots are not comparable with those of the main process.
func (s summarizing) all(ctx context.Context, r *Recording) (*baseline.Run, error) {
	s.tellProblems(r.Problems, s.source.Strict)
	s.tellList(r.Warnings, s.source.Strict)
	s.Pipeline = s.once()
	var runs []*baseline.Run
	for _, process := range r.mainFirst() {
		if process != r.Main && r.Processes[process].Files < 2 {
			continue
		}
		run, err := s.process(ctx, func(visit visitor) (*Input, error) { return s.openProcess(r, process, s.source, visit) })
		var unusable *series.UnusableError
		switch {
		case errors.As(err, &unusable) && process != r.Main:
			s.tellProblems(unusable.Problems, s.source.Strict)
		case err != nil:
			return nil, err
		case len(runs) == 0 || runs[0].Meta.Format == run.Meta.Format && runs[0].Meta.Period == run.Meta.Period:
			runs = append(runs, run)
		}
	}
	pooled := summary.Pool(runs)
	if left := len(r.Processes) - len(runs); len(runs) > 1 || left > 0 {
		pooled.Meta.Notes = append(pooled.Meta.Notes, s.words.Pooled(len(runs), left))
	}
	return pooled, nil
}

// process summarizes one process.
func (s summarizing) process(ctx context.Context, open func(visitor) (*Input, error)) (*baseline.Run, error) {
	var columns sites.Collector
	in, err := open(columns.Visit)
	if err != nil {
		return nil, err
	}
	if m := in.Manifest; m != nil && m.Recording != nil {
		s.options.Command = m.Recording.Command
	}
	if err := s.Resolve(ctx, in, s.source.Symbols); err != nil {
		return nil, err
	}
	held := s.holders(in).sites
	s.options.Holder = func(members []symbolize.SiteID) string { return s.words.Held(held.Of(members).Held) }
	run, err := summary.New(in.Series, in.Symbols, &columns, s.options)
	if err != nil {
		return nil, err
	}
	run.Meta.Notes = s.words.Range(sites.JudgedRange(in.Series, 0, 0))
	return run, nil
}

// ReadRun returns the run at a path: the file of a baseline, or snapshots.
func (p *Pipeline) ReadRun(ctx context.Context, path string, o *Summary) (*baseline.Run, error) {
	if strings.HasSuffix(path, baseline.Suffix) {
		return baseline.Load(path)
	}
	if baseline.IsSet(path) {
		return nil, fmt.Errorf("%s is a baseline set: name one of its files, or snapshots", path)
	}
	return p.Summarize(ctx, []string{path}, o)
}

// Earlier are the runs that a run is compared with.
type Earlier struct {
	// Paths are runs, baseline sets, or patterns that match such.
	Paths []string
	// Reference is the path of the reference run; "" is the one that a baseline set names.
	Reference string
	// Current is the path of the run that is judged, which is not compared with itself.
	Current string
	// Force leaves out files of a baseline set that cannot be read.
	Force bool
	// Snapshots is how runs are summarized that are snapshots.
	Snapshots Summary
}

// Absent reports whether a path has no run yet, and why: nothing is there, or a directory without
// files. Where there is nothing, but runs beside it, the path may be misspelt, and is not absent
// unless it ends like that of a directory.
func Absent(path string) (why string, absent bool) {
	entries, err := os.ReadDir(path)
	if err == nil {
		return "is empty", !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name()[0] != '.' })
	}
	if !errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(path, baseline.Suffix) || strings.ContainsAny(path, `*?[`) {
		return "", false
	}
	dir, name := filepath.Split(path)
	why = "does not exist"
	if sets := setsBeside(filepath.Clean(path)); sets != "" {
		why += " (beside it: " + sets + ")"
	}
	return why, name == "" || !hasRuns(cmp.Or(dir, "."))
}

// setsBeside returns the baseline sets in the directory of a path: it may be misspelt.
func setsBeside(path string) string {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir)
	var sets []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if found, _ := filepath.Glob(filepath.Join(name, "*"+baseline.Suffix)); e.IsDir() && len(found) > 0 {
			sets = append(sets, name)
		}
	}
	return strings.Join(sets[:min(len(sets), 3)], ", ")
}

// hasRuns reports whether files in a directory are baselines or snapshots.
func hasRuns(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := e.Name()
		return !e.IsDir() && (strings.HasSuffix(name, baseline.Suffix) || filename.OfSnapshots(name))
	})
}

// ReadEarlier returns the runs to compare with, and the reference run or nil. It returns none if
// all paths are absent.
func (p *Pipeline) ReadEarlier(
	ctx context.Context,
	o *Earlier,
) (runs []*baseline.Run, reference *baseline.Run, err error) {
	paths, err := expandRuns(o.Paths)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(paths, func(path string) bool { _, absent := Absent(path); return !absent }) {
		paths = nil
	}
	for _, path := range paths {
		if !baseline.IsSet(path) {
			run, err := p.ReadRun(ctx, path, &o.Snapshots)
			if err != nil {
				return nil, nil, err
			}
			runs = append(runs, run)
			continue
		}
		set, pinned, err := p.readSet(path, o)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, set...)
		if reference == nil {
			reference = pinned
		}
	}
	if o.Reference != "" {
		reference, err = p.ReadRun(ctx, o.Reference, &o.Snapshots)
	}
	return runs, reference, err
}

// readSet reads a baseline set, except the run that is judged.
func (p *Pipeline) readSet(dir string, o *Earlier) (runs []*baseline.Run, reference *baseline.Run, err error) {
	set, err := baseline.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(set.Problems) > 0 && !o.Force {
		return nil, nil, errors.Join(set.Problems...)
	}
	for _, problem := range set.Problems {
		p.Tell(Notice{Kind: SkippedBaseline, Doubtful: true, Subject: dir, Text: problem.Error()})
	}
	isCurrent := func(e baseline.Entry) bool { return atomicfile.SameFile(e.Path, o.Current) }
	entries := slices.DeleteFunc(set.Entries, isCurrent)
	for _, e := range entries {
		if e.Reference {
			reference = e.Run
		}
		if !e.Reference || len(entries) <= gate.LeastBaselines {
			runs = append(runs, e.Run)
		}
	}
	return runs, reference, nil
}

// expandRuns replaces each pattern that matches baselines, directories or bundles by its matches:
// each is a run, or a baseline set. A pattern that matches snapshots is one run, and stays.
func expandRuns(paths []string) (out []string, err error) {
	for _, path := range paths {
		matches, err := expand(path)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(matches, isRun) {
			matches = []string{path}
		}
		out = append(out, matches...)
	}
	return out, nil
}

// expand returns the paths that match a pattern, in order. An existing file matches itself.
func expand(pattern string) ([]string, error) {
	if _, err := os.Lstat(pattern); err == nil {
		return []string{pattern}, nil
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: not a valid pattern: %w", pattern, err)
	}
	return found, nil
}

// isRun reports whether a path is a run, as opposed to one of the snapshots of a run.
func isRun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || strings.HasSuffix(path, baseline.Suffix) || bundle.Is(path)
}
