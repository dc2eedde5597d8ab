//go:build linux

package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// chooseDir sets the directory and the prefix of the snapshots.
func (p *Plan) chooseDir() error { return p.within(func() {}, p.chooseName) }

func (p *Plan) chooseName() error {
	name := outdir.Name(filepath.Base(p.Target.Path), "program")
	if pattern := (outdir.Pattern{Text: p.Dir, Time: time.Now(), PID: os.Getpid()}); p.Dir == "" {
		fallback := outdir.Default(name)
		p.freeName = func() string { return outdir.Fresh(fallback) }
	} else if pattern.Numbered() {
		p.freeName = pattern.Free
	} else {
		p.Dir = pattern.Name(0)
	}
	if p.freeName != nil {
		p.Dir = p.freeName()
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return notRecorded(err)
	}
	if outdir.HasRecording(dir) && !p.Replace {
		return taken(fmt.Errorf("%s already holds a recording: choose another directory%s", p.Dir, p.otherDirectory()))
	}
	p.prefix = filepath.Join(dir, name)
	if len(p.prefix) > 900 { // gperftools' buffer has 1000 bytes
		return status.Errorf(status.Failed, "%s: path is too long for the allocator: choose another with %s", p.Dir,
			option.Output)
	}
	if strings.Contains(p.prefix, ",") { // MALLOC_CONF is a list with commas
		return status.Errorf(status.Failed,
			"%s: path contains a comma, which jemalloc does not support: choose another with %s", p.Dir, option.Output)
	}
	return nil
}

// taken returns err as a [NotRecorded]: the directory holds a recording.
func taken(err error) error {
	return &status.Error{Status: status.Failed, Err: &NotRecorded{Err: err, Taken: true}}
}

// dir returns the absolute path of the directory.
func (p *Plan) dir() string { return filepath.Dir(p.prefix) }

// outputParent returns the directory of the snapshots, if it exists, or the nearest one above it
// that does. It may be the only one that can be written to, as in a container with a read-only
// root.
func (p *Plan) outputParent() string {
	for dir := p.dir(); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// otherDirectory returns how the user gets around a recording in the directory.
func (p *Plan) otherDirectory() string {
	replace := ""
	if !p.attached {
		replace = ", or remove the recording with " + option.Replace
	}
	return " with " + option.Output + " (%n in its name is the first free number)" + replace
}

// answerWithin is the time that the file system of the directory has for each step.
const answerWithin = 2 * time.Second

// within calls functions that use the directory, one after another, until one fails. If the file
// system does not answer, it returns a [NotRecorded] error, and p must not be used any more. The
// step that is waited for goes on then; undo is called if it returns without an error.
func (p *Plan) within(undo func(), steps ...func() error) error {
	dir, done, abandoned := cmp.Or(p.Dir, "the current directory"), make(chan error), make(chan struct{})
	go func() {
		for _, step := range steps {
			err := step()
			select {
			case done <- err:
			case <-abandoned:
				if err == nil {
					undo()
				}
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for range steps {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-time.After(answerWithin):
			close(abandoned)
			err := fmt.Errorf("%s: the file system has not answered for %s", dir, answerWithin)
			return &status.Error{Status: status.Failed, Err: &NotRecorded{Err: err, Stalled: true}}
		}
	}
	return nil
}

// MakeDir creates the directory of the snapshots, and removes the recording in it if that is to be
// replaced. Run calls it if it was not called. Another recording may have taken a free name since
// Prepare: then p.Dir and p.Settings change.
func (p *Plan) MakeDir() error {
	if p.made {
		return nil
	}
	return p.within(p.removeDir, p.removeOld, p.createDir)
}

// removeOld removes the recording that is to be replaced.
func (p *Plan) removeOld() error {
	if !p.Replace || !outdir.HasRecording(p.dir()) {
		return nil
	}
	if err := outdir.Remove(p.dir()); err != nil {
		return taken(fmt.Errorf("the recording in %s was not removed: %w", p.Dir, err))
	}
	return nil
}

// createDir creates the directory, under another name if that is taken.
func (p *Plan) createDir() error {
	_, missing := os.Lstat(p.dir())
	err := p.makeDir()
	for p.freeName != nil && errors.Is(err, os.ErrExist) {
		p.Dir = p.freeName()
		dir, absErr := filepath.Abs(p.Dir)
		if absErr != nil {
			return notRecorded(absErr)
		}
		p.prefix = filepath.Join(dir, filepath.Base(p.prefix))
		p.setSettings()
		err = p.makeDir()
	}
	if err != nil {
		return notRecorded(err)
	}
	p.made = true
	p.created = errors.Is(missing, os.ErrNotExist)
	return nil
}

// makeDir creates the directory and those above it. One with a free name must not exist.
func (p *Plan) makeDir() error {
	if p.freeName == nil {
		return os.MkdirAll(p.dir(), 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p.dir()), 0o755); err != nil {
		return err
	}
	return os.Mkdir(p.dir(), 0o755)
}
