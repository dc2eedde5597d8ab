package evidence

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/heaplapse/heaplapse/symbolize"
)

// Unnamed is a program or library of a report whose functions have no names, and the reason.
type Unnamed struct {
	Module string
	Err    error
}

// Symbolize names the addresses of reports that were written without a symbolizer, from the files
// at their paths below the sysroot of o. It returns the modules whose file is missing, cannot be
// used, or is another build.
func Symbolize(ctx context.Context, reports []*Report, o symbolize.Options) (failed []Unnamed, err error) {
	for _, report := range reports {
		modules := unnamed(report)
		for _, module := range slices.Sorted(maps.Keys(modules)) {
			addresses := modules[module]
			locations, err := addresses.resolve(ctx, module, o)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				failed = append(failed, Unnamed{module, err})
				continue
			}
			addresses.name(module, locations)
		}
	}
	return failed, nil
}

// addresses are those without a name in one module.
type addresses struct {
	buildID string
	offsets []uint64
	records []*Record // that have any
}

// unnamed returns the addresses of a report without names, by the path of their module.
func unnamed(report *Report) map[string]*addresses {
	out := map[string]*addresses{}
	for i := range report.Records {
		r := &report.Records[i]
		for _, f := range r.Frames {
			if f.Function != "" || f.Module == "" || f.Offset == 0 {
				continue
			}
			a := out[f.Module]
			if a == nil {
				a = &addresses{buildID: f.BuildID}
				out[f.Module] = a
			}
			a.offsets = append(a.offsets, f.Offset)
			if len(a.records) == 0 || a.records[len(a.records)-1] != r {
				a.records = append(a.records, r)
			}
		}
	}
	for _, a := range out {
		slices.Sort(a.offsets)
		a.offsets = slices.Compact(a.offsets)
	}
	return out
}

// resolve returns the locations of the offsets.
func (a *addresses) resolve(ctx context.Context, module string, o symbolize.Options) ([]symbolize.Location, error) {
	file := path.Join(o.Sysroot, module)
	id, err := symbolize.BuildID(file)
	if err != nil {
		return nil, err
	}
	if a.buildID != "" && id != a.buildID {
		return nil, fmt.Errorf("%s is another build", file)
	}
	return symbolize.ELF(ctx, file, a.offsets, o)
}

// name sets the names of the frames with the offsets.
func (a *addresses) name(module string, locations []symbolize.Location) {
	known := make(map[uint64][]symbolize.Frame, len(locations))
	for _, l := range locations {
		known[l.Offset] = l.Frames
	}
	for _, r := range a.records {
		var frames []ReportFrame
		for _, f := range r.Frames {
			var named []symbolize.Frame
			if f.Module == module && f.Function == "" {
				named = known[f.Offset]
			}
			if len(named) == 0 {
				frames = append(frames, f)
			}
			for _, g := range named {
				f.Function, f.File, f.Line = g.Function, g.File, g.Line
				frames = append(frames, f)
			}
		}
		r.Frames = frames
	}
}
