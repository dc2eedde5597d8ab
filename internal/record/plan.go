//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	preload "github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Prepare checks the options, examines the program and selects an engine. It does not run the
// program. It leaves no files except those of package preloadfile. If a recording is not possible,
// it returns a [status.Error].
func Prepare(o Options) (*Plan, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	target, err := program.Find(o.Command, o.Env)
	if exhausted(err) {
		return nil, notRecorded(err)
	}
	if err != nil {
		return nil, err
	}
	p := &Plan{Options: o, Target: target}
	if err := p.chooseDir(); err != nil {
		return nil, err
	}
	p.setTimer()
	if err := p.chooseEngine(); err != nil {
		return nil, err
	}
	p.configure()
	if remedy := program.ContainerRemedy(target.Exe); remedy != "" {
		p.note("%s", remedy)
	}
	return p, nil
}

// check returns an error for values that no engine supports.
func (o *Options) check() error {
	switch {
	case o.Every < 0 || o.EveryAlloc < 0 || o.EveryInuse < 0 || o.SamplePeriod < 0 || o.Duration < 0 || o.Keep < 0 ||
		o.KeepBytes < 0:
		return status.Errorf(status.Failed, "intervals, periods and numbers must not be negative")
	case o.Every > 0 && o.Every < 10*time.Millisecond:
		return status.Errorf(status.Failed, "%s %s: the minimum is 10ms", option.Every, o.Every)
	case o.Keep == 1 || o.Keep == 2:
		return status.Errorf(status.Failed, "%s %d: growth needs at least 6 snapshots", option.Keep, o.Keep)
	}
	if o.Signal == "" {
		return nil
	}
	n, err := sig.Number(o.Signal)
	if err != nil {
		return status.Errorf(status.Failed, "%s %s: %w", option.Signal, o.Signal, err)
	}
	if sig.Ignored(n) {
		return status.Errorf(status.Failed, "%s %s: the signal is ignored, and the program would inherit that",
			option.Signal, o.Signal)
	}
	return nil
}

// setTimer turns the adaptive timer off if there is another trigger, and otherwise sets its first
// interval.
func (o *Options) setTimer() {
	if o.Adaptive && (o.EveryAlloc > 0 || o.EveryInuse > 0) {
		o.Adaptive = false
		o.Every = 0
	}
	if o.Adaptive {
		o.Every = DefaultEvery
	}
}

// chooseEngine selects the engine and its library.
func (p *Plan) chooseEngine() error {
	switch p.Options.Engine {
	case "", "auto":
		return p.chooseAuto()
	}
	for _, e := range engines {
		if e.name() == p.Options.Engine {
			if err := p.tryEngine(e); err != nil {
				return &status.Error{Status: status.Failed, Err: err}
			}
			p.Why = "selected with " + option.Engine
			return nil
		}
	}
	return status.Errorf(status.Failed, "%s %s: want builtin, tcmalloc, jemalloc or auto",
		option.Engine, p.Options.Engine)
}

// chooseAuto selects the first engine that is installed and supports the options.
func (p *Plan) chooseAuto() error {
	var errs []error
	for _, e := range engines {
		err := p.tryEngine(e)
		if err == nil {
			p.Why = p.autoReason(errs)
			return nil
		}
		var limit *tooLow
		if errors.As(err, &limit) {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", e.name(), err))
	}
	return &status.Error{Status: status.Failed, Err: errors.Join(errs...)}
}

// autoReason returns the reason for the selection of the engine after those that failed with the
// given errors.
func (p *Plan) autoReason(failed []error) string {
	switch {
	case len(failed) == 0 && p.runsPython():
		return "lowest overhead, and lines of Python"
	case len(failed) == 0:
		return "lowest overhead; " + option.Engine + " tcmalloc records every allocation"
	}
	return "not " + failed[0].Error()
}

// tryEngine selects an engine if it supports the options, and its library is installed and works.
func (p *Plan) tryEngine(e engine) error {
	return explainLimit(p.tryEngineOnce(e))
}

func (p *Plan) tryEngineOnce(e engine) error {
	if err := e.refuse(&p.Options); err != nil {
		return err
	}
	lib, err := e.find(p)
	if err != nil {
		return err
	}
	p.engine, p.Engine, p.Library, p.Hints, p.adapter = e, e.name(), lib, nil, ""
	if _, ok := e.(external); ok {
		if p.adapter, err = p.store(preload.AdapterName, "adapter of allocators", preload.Adapter); err != nil {
			return err
		}
	}
	return p.try()
}

// findLibrary returns the library of an engine: the one that the user gave, or the first one that
// is found.
func (p *Plan) findLibrary(e external) (Library, error) {
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
	path, reason := s.FindLibrary(program.System{}, want, p.Env)
	if path == "" {
		remedy := "use " + option.Library + " FILE"
		if want.Libc != "musl" || (program.System{}).Release().ID == "alpine" {
			remedy = s.Install(program.System{}, p.Env) + ", or " + remedy
		}
		if reason == nil {
			return Library{}, fmt.Errorf("%s not found: %s", s.Names[0], remedy)
		}
		return Library{}, fmt.Errorf("%s not found (%w): %s", s.Names[0], reason, remedy)
	}
	return Library{path, e.version(path)}, nil
}

// configure sets the environment variables and the texts for the user.
func (p *Plan) configure() {
	p.setSettings()
	p.Cost = p.engine.cost(&p.Options)
	p.When = p.engine.when(&p.Options)
	p.Hints = append(p.Hints, p.runtimeHints()...)
	if p.PythonMalloc && p.engine.seesPython() {
		p.note("%s is not needed: the built-in engine sees the small objects of CPython", option.PythonMalloc)
	}
	if err := preloadfile.Check(p.Library.Path); err != nil {
		p.note("another user can replace %s: %v", p.Library.Path, err)
	}
}

func (p *Plan) setSettings() { p.Settings = append(p.settings(), p.runtimeSettings()...) }

// settings returns the variables of the engine.
func (p *Plan) settings() []Setting {
	preload := p.Library.Path
	if p.adapter != "" {
		preload += ":" + p.adapter // after the library: libraries are initialized in reverse order
	}
	if own := program.Getenv(p.Env, "LD_PRELOAD"); own != "" {
		preload += ":" + own
	}
	return append([]Setting{{"LD_PRELOAD", preload}}, p.engine.settings(&p.Options)...)
}

// Environment returns the environment of the program: Env with Settings.
func (p *Plan) Environment() []string { return withSettings(p.Env, p.Settings, p.receiver) }

// withSettings returns an environment with settings, and with those of a receiver if it is not nil.
func withSettings(env []string, settings []Setting, r *channel.Receiver) []string {
	env = append([]string(nil), env...)
	for _, s := range settings {
		if s.Name == preload.Variable && r != nil {
			s.Value += " " + r.Settings()
		}
		env = program.Setenv(env, s.Name, s.Value)
	}
	return env
}
