//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/record/status"
)

// chooseDir sets the directory and the prefix of the snapshots.
func (p *Plan) chooseDir() error {
	name := outdir.Name(filepath.Base(p.Target.Path), "program")
	if p.Dir == "" {
		p.dirName = outdir.Default(name)
		p.Dir = outdir.Fresh(p.dirName)
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return notRecorded(err)
	}
	if outdir.HasRecording(dir) {
		return notRecorded(fmt.Errorf("%s already holds a recording: choose another directory%s", p.Dir, p.withOutput()))
	}
	p.prefix = filepath.Join(dir, name)
	if len(p.prefix) > 900 { // gperftools' buffer has 1000 bytes
		return status.Errorf(status.Failed, "%s: path is too long for the allocator: choose another%s", p.Dir, p.withOutput())
	}
	if strings.Contains(p.prefix, ",") { // MALLOC_CONF is a list with commas
		return status.Errorf(status.Failed,
			"%s: path contains a comma, which jemalloc does not support: choose another%s", p.Dir, p.withOutput())
	}
	return nil
}

// dir returns the absolute path of the directory.
func (p *Plan) dir() string { return filepath.Dir(p.prefix) }

// outputParent returns the directory of the snapshots, if it exists, or the nearest one above it that
// does. It may be the only one that can be written to, as in a container with a read-only root.
func (p *Plan) outputParent() string {
	for dir := p.dir(); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// withOutput returns how the user chooses the directory.
func (p *Plan) withOutput() string { return p.Flags.If(option.Output, " with %s") }

// MakeDir creates the directory of the snapshots. Run calls it if it was not called. Another
// recording may have taken a default name since Prepare: then p.Dir and p.Settings change.
func (p *Plan) MakeDir() error {
	if p.made {
		return nil
	}
	create := os.MkdirAll
	if p.dirName != "" {
		create = os.Mkdir
	}
	_, missing := os.Lstat(p.dir())
	err := create(p.dir(), 0o755)
	for p.dirName != "" && errors.Is(err, os.ErrExist) {
		p.Dir = outdir.Fresh(p.dirName)
		p.prefix = filepath.Join(p.dir(), "..", p.Dir, filepath.Base(p.prefix))
		p.setSettings()
		err = create(p.dir(), 0o755)
	}
	if err != nil {
		return notRecorded(err)
	}
	p.made = true
	p.created = errors.Is(missing, os.ErrNotExist)
	return nil
}
