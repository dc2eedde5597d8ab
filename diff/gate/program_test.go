package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

// function is an allocation site of a made-up program. Its stack, leaf first, is separated by
// blanks.
type function struct {
	stack string
	file  string
	bytes float64 // steady level
	slope float64 // bytes gained over the run
	alloc float64
}

// program is all sites of a build.
type program []function

// service is a program of some sites, 100 MiB in all.
func service() program {
	return program{
		{"Cache::insert Server::handle Server::loop main", "cache.cc", 40 * mib, 0, 400 * mib},
		{"Session::open Server::accept Server::loop main", "session.cc", 20 * mib, 0, 90 * mib},
		{"parse_request Server::handle Server::loop main", "parser.cc", 12 * mib, 0, 800 * mib},
		{"Index::build Index::load main", "index.cc", 10 * mib, 0, 10 * mib},
		{"Pool<Node>::grow Index::load main", "pool.h", 8 * mib, 0, 8 * mib},
		{"Log::buffer Server::loop main", "log.cc", 6 * mib, 0, 6 * mib},
		{"config_read main", "config.cc", 4 * mib, 0, 4 * mib},
	}
}

// with returns a copy in which a function, found by the beginning of its stack, is changed.
func (p program) with(name string, change func(*function)) program {
	out := append(program{}, p...)
	for i := range out {
		if strings.HasPrefix(out[i].stack, name+" ") {
			change(&out[i])
		}
	}
	return out
}

func times(factor float64) func(*function) { return func(f *function) { f.bytes *= factor } }

// noise makes runs of one build differ, each site by a separate factor. The zero value makes no
// difference.
type noise struct {
	r  *rand.Rand
	cv float64
}

func newNoise(seed uint64, cv float64) noise { return noise{rand.New(rand.NewPCG(seed, 1)), cv} }

func (n noise) factor() float64 {
	if n.r == nil {
		return 1
	}
	return math.Exp(n.r.NormFloat64() * n.cv)
}

// run is a summary of the program on a night.
func (p program) run(night int, n noise) *baseline.Run {
	r := &baseline.Run{Meta: baseline.Meta{
		Name: fmt.Sprintf("night%02d", night), Recorded: time.Date(2026, 1, 1+night, 3, 0, 0, 0, time.UTC), Workload: "replay",
		Format: "heapprofile", Snapshots: 20, Span: 600, HasAlloc: true,
	}}
	for _, f := range p {
		s := siteOf(f, n.factor())
		r.Sites = append(r.Sites, s)
		r.Total = r.Total.Add(s.Level)
	}
	r.Rest = baseline.Level{Bytes: 100 << 10}
	r.Total = r.Total.Add(r.Rest)
	return r
}

func siteOf(f function, factor float64) baseline.Site {
	frames := strings.Fields(f.stack)
	s := baseline.Site{
		Identity: identity.Site{Frames: frames},
		Level: baseline.Level{
			Bytes: f.bytes * factor, Objects: f.bytes * factor / 100, Peak: f.bytes * factor, Slope: f.slope * factor * 6,
			AllocBytes: f.alloc * factor, AllocObjects: f.alloc * factor / 100,
		},
	}
	for i, name := range frames {
		frame := symbolize.Frame{Function: name, Module: "/usr/bin/service", Line: 10 + i}
		if i == 0 {
			frame.File = "/src/" + f.file
		}
		s.Frames = append(s.Frames, frame)
	}
	return s
}

// set are nights of one build.
func (p program) set(nights int, n noise) (out []*baseline.Run) {
	for i := range nights {
		out = append(out, p.run(i, n))
	}
	return out
}

// listed is the row of a function, nil if it is not listed.
func listed(r *Result, function string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Function == function {
			return &r.Rows[i]
		}
	}
	return nil
}

// status is that of a function, Unchanged if it is not listed.
func status(r *Result, function string) Status {
	if row := listed(r, function); row != nil {
		return row.Status
	}
	return Unchanged
}

// kinds are those of the notes.
func kinds(r *Result) (out []NoteKind) {
	for _, n := range r.Notes {
		out = append(out, n.Kind)
	}
	return out
}

// judged compares a program with six quiet nights of the service.
func judged(t *testing.T, p program, o Options) *Result {
	t.Helper()
	n := newNoise(3, 0.01)
	r, err := Compare(p.run(10, n), service().set(6, n), nil, o)
	require.NoError(t, err)
	return r
}

func rename(stack string) func(*function) { return func(f *function) { f.stack = stack } }

// shuffled is another build of the service: functions are gone, renamed, have other template
// arguments or other callers.
func shuffled(r *rand.Rand) (out program) {
	callers := []string{"main", "Server::handle Server::loop main", "std::invoke Server::loop main", "Index::load main"}
	for _, f := range service() {
		name := []string{f.stack[:len(f.stack)-5], "Pool<Edge>::grow", "Cache::insert", "Index::build"}[r.IntN(4)]
		if r.IntN(5) > 0 {
			f.stack = name + " " + callers[r.IntN(len(callers))]
			out = append(out, f)
		}
	}
	return append(out, function{"start main", "start.cc", mib, 0, mib})
}
