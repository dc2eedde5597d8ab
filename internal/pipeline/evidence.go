package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Evidence reads reports of memcheck and LeakSanitizer, and names their addresses. Paths may be
// patterns. Without paths it returns nil.
func (p *Pipeline) Evidence(
	ctx context.Context,
	paths []string,
	o symbolize.Options,
	rules *class.Rules,
) (*evidence.Index, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var reports []*evidence.Report
	for _, pattern := range paths {
		found, err := expand(pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			found = []string{pattern} // reading it reports that it does not exist
		}
		for _, path := range found {
			report, err := evidence.Read(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", option.Evidence, err)
			}
			if report.Tool == "" {
				p.Tell(Notice{Kind: NoEvidence, Subject: path, Text: path + ": no report of leaks; LeakSanitizer writes none if it finds no leak"})
			}
			reports = append(reports, report)
		}
	}
	unnamed, err := evidence.Symbolize(ctx, reports, o)
	p.tellUnnamed(unnamed)
	return evidence.NewIndex(reports, rules), err
}

// tellUnnamed reports the modules of reports whose functions have no names.
func (p *Pipeline) tellUnnamed(unnamed []evidence.Unnamed) {
	missing := Notice{Kind: MissingModules, Subject: "evidence"}
	for _, u := range unnamed {
		if errors.Is(u.Err, fs.ErrNotExist) {
			missing.Modules = append(missing.Modules, u.Module)
			continue
		}
		p.Tell(Notice{Kind: UnusableModule, Subject: u.Module, Text: u.Err.Error()})
	}
	if len(missing.Modules) > 0 {
		p.Tell(missing)
	}
}

// lossesOf finds the losses of the processes of a recording. The index may be nil.
type lossesOf struct {
	index     *evidence.Index
	processes []series.Process
}

// of returns the losses of a process: not those of another program of the recording.
func (l *lossesOf) of(p *series.Process) *evidence.Index {
	return l.index.Only(func(r *evidence.Report) bool {
		runs := func(q *series.Process) bool { return q.Exe != "" && path.Base(q.Exe) == path.Base(r.Program) }
		other := func(q series.Process) bool { return runs(&q) }
		return p.Exe == "" || r.Program == "" || runs(p) || !slices.ContainsFunc(l.processes, other)
	})
}
