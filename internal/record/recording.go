//go:build linux

package record

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/collect"
	"github.com/heaplapse/heaplapse/internal/record/looks"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// open creates and prepares the directory, sets p.receiver, which writes there, and watches it.
// receive is [channel.Listen] or [channel.Open]. After an error, another recording can use the
// directory.
func (p *Plan) open(
	receive func(prefix string) (*channel.Receiver, error),
) (*manifest.Writer, *collect.Watcher, error) {
	if err := p.MakeDir(); err != nil {
		return nil, nil, err
	}
	var out *manifest.Writer
	var w *collect.Watcher
	undo := func() {
		w.Close()
		if p.receiver != nil {
			_ = p.receiver.Close() // nobody is told: the program runs already
		}
		_ = p.cleanUp(out)
	}
	err := p.within(undo,
		func() (err error) { out, err = p.prepareDir(); return err },
		func() (err error) {
			if p.receiver, err = receive(p.prefix); err != nil {
				return errors.Join(err, p.cleanUp(out))
			}
			return nil
		},
		func() error { w = p.watchDir(); return nil },
	)
	if err != nil {
		return nil, nil, err
	}
	return out, w, nil
}

// prepareDir creates the manifest with its first records, and the copy of the vDSO.
// After an error, another recording can use the directory.
func (p *Plan) prepareDir() (*manifest.Writer, error) {
	out, err := manifest.Create(p.dir())
	if err != nil {
		p.removeFiles()
		return nil, err
	}
	if err = p.writeHead(out); err == nil {
		err = keepVDSO(p.dir(), out)
	}
	if err != nil {
		_ = p.cleanUp(out) // it fails for the same reason
		return nil, err
	}
	return out, nil
}

// writeHead adds what is known before the program runs to the manifest.
func (p *Plan) writeHead(out *manifest.Writer) error {
	host, _ := os.Hostname()
	settings := map[string]string{}
	for _, s := range p.Settings {
		settings[s.Name] = s.Value
	}
	return out.Recording(manifest.Recording{
		Started: time.Now().UTC(), Recorder: p.Recorder, Host: host, Command: p.Command,
		Engine: p.Engine, Library: p.Library.Path, Version: p.Library.Version,
		Sampling: p.engine.period(&p.Options), Settings: settings,
	})
}

// keepVDSO copies [vdso], the ELF image that the kernel maps into every process and that no file
// contains. The image of this process equals that of the program. keepVDSO does nothing if the
// kernel has none.
func keepVDSO(dir string, out *manifest.Writer) error {
	image, err := proc.ReadVDSO()
	if err != nil || image == nil {
		return nil //nolint:nilerr // a recording is useful without the names of [vdso]
	}
	// An existing link of this name is replaced, not followed: the directory may belong to another
	// user.
	o := atomicfile.Options{Replace: true, Finish: atomicfile.OnlyForOwner}
	err = atomicfile.Write(filepath.Join(dir, manifest.VDSOFile), o, func(w io.Writer) error {
		_, err := w.Write(image)
		return err
	})
	if err != nil {
		return err
	}
	return out.File(manifest.File{File: manifest.VDSOFile, Path: "[vdso]", Kind: "vdso"})
}

// watchDir reports the files that are written to the directory. It returns nil if that does not
// work.
func (p *Plan) watchDir() *collect.Watcher {
	w, err := collect.Watch(p.dir())
	if err != nil {
		p.note("no file events, polling the directory instead: %v", err)
	}
	return w
}

// collector returns a collector of the snapshots of a process.
func (p *Plan) collector(root int, out *manifest.Writer) *collect.Collector {
	return collect.New(collect.Options{
		Prefix: p.prefix, Shown: p.Dir,
		Root: root, Scope: p.Scope, ChildrenHint: p.childrenHint(), Library: p.loaded(),
		Keep: p.Keep, KeepBytes: p.KeepBytes, NoCompress: p.NoCompress, HoldFiles: p.HoldFiles,
		Trigger: func(s, before *written.Snapshot, highest int64) string {
			return p.engine.trigger(&p.Options, s, before, highest)
		},
		CloseFiles: p.receiver.Close, Unfinished: p.receiver.Unfinished,
	}, out)
}

// newLooks returns what looks at what holds the sampled blocks of the recorded processes, or nil if that is not wanted.
func (p *Plan) newLooks() *looks.Looks {
	if p.NoHolders || p.engine.name() != (builtin{}).name() {
		return nil
	}
	l := looks.New(looks.Options{
		Every: p.HoldersEvery, Half: p.receiver.Half, Guard: p.Guard, Tell: p.tell,
	})
	p.receiver.Leaving(l.Leaving)
	return l
}

// childrenHint tells the user how to record more processes.
func (p *Plan) childrenHint() string {
	if p.Scope == MainOnly {
		return " (without " + option.MainOnly + ", those that run the same program are recorded)"
	}
	return " (" + option.FollowChildren + " records other programs, too)"
}

// loaded returns the path of the library that each process maps that can be recorded, or "" if it
// has another name there.
func (p *Plan) loaded() string {
	if p.attached {
		return ""
	}
	return cmp.Or(p.adapter, p.Library.Path)
}

// cleanUp closes the manifest and removes the files of prepareDir if the program could not be
// started: another recording can use the directory.
func (p *Plan) cleanUp(out *manifest.Writer) error {
	err := out.Close()
	p.removeFiles()
	return err
}

// removeFiles removes the manifest and what else prepareDir makes.
func (p *Plan) removeFiles() {
	dir := p.dir()
	_ = os.Remove(filepath.Join(dir, manifest.Name))
	_ = os.Remove(filepath.Join(dir, manifest.VDSOFile))
	p.removeDir()
}

// removeDir removes the directory if MakeDir has created it and it is empty.
func (p *Plan) removeDir() {
	if p.created {
		_ = os.Remove(p.dir())
	}
}
