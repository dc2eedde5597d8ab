//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Prepare decides what will be done. It runs nothing of the user's and leaves nothing behind; an *Error says why a
// recording is not possible, and with which status to exit.
func Prepare(o Options) (*Plan, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	target, err := program.Find(o.Command, o.Env)
	if err != nil {
		return nil, err
	}
	p := &Plan{Options: o, Target: target}
	if err := p.place(); err != nil {
		return nil, err
	}
	p.timer()
	if err := p.choose(); err != nil {
		return nil, err
	}
	p.configure()
	return p, nil
}

// check refuses values that nothing can honour.
func (o *Options) check() error {
	switch {
	case o.Every < 0 || o.EveryAlloc < 0 || o.EveryInuse < 0 || o.SamplePeriod < 0 || o.Duration < 0 || o.Keep < 0:
		return status.Errorf(status.Failed, "intervals, periods and numbers cannot be negative")
	case o.Every > 0 && o.Every < 10*time.Millisecond:
		return status.Errorf(status.Failed, "--every %s: a snapshot takes milliseconds; 10ms is the least", o.Every)
	case o.Keep == 1 || o.Keep == 2:
		return status.Errorf(status.Failed, "--keep %d: growth needs 6 snapshots or more", o.Keep)
	}
	if o.Signal == "" {
		return nil
	}
	n, err := sig.Number(o.Signal)
	if err != nil {
		return status.Errorf(status.Failed, "--signal %s: %w", o.Signal, err)
	}
	if sig.Ignored(n) {
		return status.Errorf(status.Failed, "--signal %s: this signal is ignored here, and would be in the program", o.Signal)
	}
	return nil
}

// timer sets the default one where nothing else was asked for.
func (o *Options) timer() {
	if o.Adaptive && (o.EveryAlloc > 0 || o.EveryInuse > 0) {
		o.Adaptive = false
		o.Every = 0
	}
	if o.Adaptive {
		o.Every = DefaultEvery
	}
}

var unsafeInName = regexp.MustCompile(`[^A-Za-z0-9+-]+`)

// place decides where the snapshots go and what they are called.
func (p *Plan) place() error {
	name := strings.Trim(unsafeInName.ReplaceAllString(filepath.Base(p.Target.Path), "-"), "-")
	if name == "" {
		name = "program"
	}
	if p.Dir == "" {
		p.Dir = freshName("heaplapse-" + name + "-" + time.Now().Format("20060102-150405"))
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return &status.Error{Status: status.Failed, Err: err}
	}
	if _, err := os.Stat(filepath.Join(dir, manifest.Name)); err == nil {
		return status.Errorf(status.Failed, "%s holds a recording already: name another directory with -o", p.Dir)
	}
	p.prefix = filepath.Join(dir, name)
	if len(p.prefix) > 900 { // gperftools' buffer has 1000 bytes
		return status.Errorf(status.Failed, "%s: its path is too long for the allocator: choose another with -o", p.Dir)
	}
	if strings.Contains(p.prefix, ",") { // MALLOC_CONF is a list
		return status.Errorf(status.Failed, "%s: its path has a comma, which jemalloc takes for the end of it: choose another with -o", p.Dir)
	}
	return nil
}

// freshName adds a number to a name that is taken.
func freshName(name string) string {
	fresh := name
	for n := 2; exists(fresh); n++ {
		fresh = fmt.Sprintf("%s-%d", name, n)
	}
	return fresh
}

// choose takes the engine.
func (p *Plan) choose() error {
	switch p.Options.Engine {
	case "", "auto":
		return p.chooseAuto()
	}
	for _, e := range engines {
		if e.name() == p.Options.Engine {
			if err := p.take(e); err != nil {
				return &status.Error{Status: status.Failed, Err: err}
			}
			p.Why = "as asked"
			return nil
		}
	}
	return status.Errorf(status.Failed, "--engine %s: want tcmalloc, jemalloc or auto", p.Options.Engine)
}

// chooseAuto takes the first engine that can honour the options and is there.
func (p *Plan) chooseAuto() error {
	var why, errs []error
	for _, e := range engines {
		err := p.take(e)
		if err == nil {
			p.Why = autoReason(e, why)
			return nil
		}
		why = append(why, err)
		errs = append(errs, fmt.Errorf("%s: %w", e.name(), err))
	}
	return &status.Error{Status: status.Failed, Err: errors.Join(errs...)}
}

func autoReason(e engine, why []error) string {
	if len(why) > 0 {
		var missing *missingError
		if errors.As(why[0], &missing) {
			return "jemalloc was not found"
		}
		return "not jemalloc: " + why[0].Error()
	}
	if e.name() == "jemalloc" {
		return "the cheaper one; --engine tcmalloc records every allocation"
	}
	return "found"
}

// missingError is an engine that is not installed.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// take tries one engine: its library, the agent, and whether they do what is asked for.
func (p *Plan) take(e engine) error {
	if err := e.refuse(&p.Options, true); err != nil {
		return err
	}
	lib, err := p.find(e)
	if err != nil {
		return err
	}
	p.engine, p.Engine, p.Library, p.Hints = e, e.name(), lib, nil
	p.agent = agent.For(p.Target.ABI().Machine) != nil
	err = p.try()
	if err != nil && p.agent {
		first := err
		p.agent = false
		if err = p.try(); err == nil {
			p.Hints = append(p.Hints, "the agent cannot be loaded: "+first.Error()+"; processes that fork may overwrite each other's snapshots")
			if err = e.refuse(&p.Options, false); err != nil {
				err = fmt.Errorf("%w: %w", err, first)
			}
		}
	}
	return err
}

func (p *Plan) find(e engine) (Library, error) {
	s := e.library()
	path := p.Options.Library
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return Library{}, err
		}
		if err := s.Usable(abs, p.Target.ABI()); err != nil {
			return Library{}, err
		}
		return Library{abs, e.version(abs)}, nil
	}
	want := p.Target.ABI()
	path, why := s.FindLibrary(program.System{}, want, p.Env)
	if path == "" {
		if why != "" {
			why = " (" + why + ")"
		}
		remedy := s.Install(program.System{}, p.Env) + ", or name it with --library"
		if want.Libc == "musl" && (program.System{}).Release().Id != "alpine" {
			remedy = "name one with --library"
		}
		return Library{}, &missingError{fmt.Sprintf("no %s found%s: %s", s.Names[0], why, remedy)}
	}
	return Library{path, e.version(path)}, nil
}

// configure writes down what the program's environment gets, and what the user should know.
func (p *Plan) configure() {
	p.Settings = p.settings(p.prefix, agentPath(filepath.Dir(p.prefix)))
	p.Settings = append(p.Settings, p.runtimeSettings()...)
	p.Cost = p.engine.cost(&p.Options)
	p.When = p.engine.when(&p.Options, p.agent)
	p.Hints = append(p.Hints, p.runtimeHints()...)
}

// settings are those of engine and agent.
func (p *Plan) settings(prefix, agent string) []Setting {
	preload := p.Library.Path
	if p.agent {
		preload += ":" + agent // last, so that it is initialised first
	}
	if own := program.Getenv(p.Env, "LD_PRELOAD"); own != "" {
		preload += ":" + own
	}
	s := append([]Setting{{"LD_PRELOAD", preload}}, p.engine.settings(&p.Options, prefix, p.agent)...)
	if p.agent {
		s = append(s, agentSetting(&p.Options, prefix))
	}
	return s
}
