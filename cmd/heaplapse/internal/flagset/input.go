package flagset

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/memory"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Series has the flags that choose the snapshots.
type Series struct {
	// Usual is what the command does with several processes by default; "" if it reads the one whose heap grew most.
	// It is set before Define.
	Usual string
	// TwoPaths reports whether the command compares two PATHs. It is set before Define.
	TwoPaths bool

	process   string
	snapshots int
	Read
}

// Define adds the flags to a set.
func (f *Series) Define(flags *pflag.FlagSet) {
	usual := cmp.Or(f.Usual, "the one whose heap grew most in the later half of its snapshots")
	if f.TwoPaths {
		usual += "; BASE,CURRENT: one of each PATH"
	}
	flags.StringVar(&f.process, "process", "", "if there are several processes, read the one with this `PID` or prefix (default: "+usual+")")
	flags.IntVar(&f.snapshots, "snapshots", pipeline.DefaultSnapshots, "make `N` snapshots of a recording of heaptrack")
	f.Read.Define(flags)
}

// Source returns how snapshots are read and named.
func (f *Series) Source(s *Symbols) (*pipeline.Source, error) {
	o, err := f.Read.Source(s)
	if err != nil {
		return nil, err
	}
	if f.snapshots < 2 || f.snapshots > maxSnapshots {
		return nil, fmt.Errorf("--snapshots: %d is not a number from 2 to %d", f.snapshots, maxSnapshots)
	}
	o.Process, o.Snapshots = f.process, f.snapshots
	return o, nil
}

// maxSnapshots is the largest number of snapshots of a recording of heaptrack. The judge needs far
// fewer.
const maxSnapshots = 10_000

// Read has the flags that tell when snapshots are not used.
type Read struct {
	strict bool
	Memory
}

// Define adds the flags to a set.
func (f *Read) Define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.strict, "strict", false, "exit with status 2 if anything in the input is suspect")
	f.Memory.Define(flags)
}

// Source returns how snapshots are read and named.
func (f *Read) Source(s *Symbols) (*pipeline.Source, error) {
	symbols, err := s.options()
	if err != nil {
		return nil, err
	}
	return &pipeline.Source{Strict: f.strict, Check: f.Memory.Check(), Symbols: symbols}, nil
}

// Memory has the flag that limits the memory.
type Memory struct {
	// Most bounds the default, in bytes; 0: it is not bounded.
	Most int64

	size Size
}

// Define adds the flag to a set.
func (f *Memory) Define(flags *pflag.FlagSet) {
	most := ""
	if f.Most > 0 {
		most = ", at most " + units.RoundBytes(f.Most)
	}
	flags.Var(&f.size, "max-memory", "give up if reading snapshots takes more than `SIZE` of memory (default: half of that of the machine or the control group"+most+")")
}

// Check returns a function that checks the limit of memory, or nil if there is none.
func (f *Memory) Check() func(more int64) error {
	limit := memory.Available() / 2
	if f.Most > 0 && (limit == 0 || limit > f.Most) {
		limit = f.Most
	}
	if f.size.IsSet() {
		limit = f.size.Bytes
	}
	if limit == 0 {
		return nil
	}
	l := memory.NewLimit(limit)
	l.Guard(endAtLimit)
	return func(more int64) error { return withRemedy(l.Check(more)) }
}

// withRemedy adds what the user can do to an error of the limit, which may be nil.
func withRemedy(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; a larger --max-memory may help, if the file is genuine", err)
}

// endAtLimit ends the process as an error of the limit does, while a reader cannot.
func endAtLimit(err error) {
	atomicfile.RemoveUnfinished()
	fmt.Fprintf(os.Stderr, "heaplapse: reading the input %v\n", withRemedy(err))
	os.Exit(unreadable)
}

// unreadable is the exit status for input that cannot be read.
const unreadable = 2
