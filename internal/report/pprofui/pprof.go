package pprofui

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/internal/report/source"
)

// driverLock guards the global variables in which pprof's driver keeps its settings while it
// starts.
var driverLock sync.Mutex

// handlers returns the handlers of pprof's web UI on a profile, minus base if that is not nil. They
// read no file but source files below a directory, which may be "".
func handlers(p, base *profile.Profile, sourceRoot string) (map[string]http.Handler, error) {
	out, err := drive(p, base)
	if err != nil {
		return nil, err
	}
	delete(out, "/disasm")
	delete(out, "/source")
	if sourceRoot == "" {
		return out, nil
	}
	sources, err := source.Open(sourceRoot)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sources.Close() }()
	withSources, err := drive(confine(p, sources), confine(base, sources))
	if err != nil {
		return nil, err
	}
	out["/source"] = withSources["/source"]
	return out, nil
}

// drive returns the handlers of pprof's web UI. pprof itself does not listen.
func drive(p, base *profile.Profile) (map[string]http.Handler, error) {
	driverLock.Lock()
	defer driverLock.Unlock()
	var out map[string]http.Handler
	// A path to trim keeps pprof from guessing one.
	args := []string{"-http=127.0.0.1:1", "-no_browser", "-symbolize=none", "-trim_path=/" + unusable}
	if base != nil {
		args = append(args, "-diff_base=base")
	}
	screen := &screen{}
	err := driver.PProf(&driver.Options{
		Flagset: &flags{flag.NewFlagSet("pprof", flag.ContinueOnError), append(args, "current")},
		Fetch:   fetcher{"current": p, "base": base},
		UI:      screen,
		Obj:     noObjects{},
		HTTPServer: func(a *driver.HTTPServerArgs) error {
			out = a.Handlers
			return nil
		},
	})
	if err != nil {
		return nil, errors.Join(err, screen.err())
	}
	return out, nil
}

// noObjects keeps pprof from reading the programs that the profile names.
type noObjects struct{}

var errNoObjects = errors.New("programs are not read")

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObjects
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObjects
}

// fetcher returns profiles to pprof by name.
type fetcher map[string]*profile.Profile

func (f fetcher) Fetch(name string, _, _ time.Duration) (*profile.Profile, string, error) {
	p := f[name]
	if p == nil {
		return nil, "", fmt.Errorf("no profile %q", name)
	}
	return p.Copy(), "", nil // pprof modifies its profiles
}

// flags are pprof's command line.
type flags struct {
	*flag.FlagSet
	args []string
}

func (f *flags) StringList(name, def, usage string) *[]*string {
	return &[]*string{f.String(name, def, usage)}
}
func (f *flags) ExtraUsage() string     { return "" }
func (f *flags) AddExtraUsage(_ string) {}
func (f *flags) Parse(_ func()) []string {
	if f.FlagSet.Parse(f.args) != nil {
		return nil
	}
	return f.Args()
}

// screen is pprof's terminal. It keeps the errors and shows nothing.
type screen struct {
	mu     sync.Mutex
	errors []string
}

func (s *screen) ReadLine(string) (string, error) { return "", errors.New("not a terminal") }
func (s *screen) Print(...any)                    {}
func (s *screen) PrintErr(a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errors) < 10 {
		s.errors = append(s.errors, strings.TrimSpace(fmt.Sprint(a...)))
	}
}
func (s *screen) IsTerminal() bool                    { return false }
func (s *screen) WantBrowser() bool                   { return false }
func (s *screen) SetAutoComplete(func(string) string) {}

func (s *screen) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errors) == 0 {
		return nil
	}
	return errors.New(strings.Join(s.errors, "; "))
}
