package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile"
)

type convertFlags struct {
	seriesFlags
	symbolFlags
	out string
}

func (a *app) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert PATH… -o OUT",
		Short: "pprof protobufs, symbolized, one per snapshot",
		Long: `Writes a pprof protobuf for each snapshot and prints the paths that it wrote.
OUT is a directory, made if need be; for a single snapshot it may be a file, or -
for standard output.`,
		Args: somePaths,
		RunE: func(_ *cobra.Command, paths []string) error { return a.convert(&f, paths) },
	}
	f.seriesFlags.add(a, cmd)
	f.symbolFlags.add(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "directory, file or - to write to (required)")
	return cmd
}

func (a *app) convert(f *convertFlags, paths []string) error {
	if f.out == "" {
		return errors.New("convert: -o OUT is missing: a directory, or a file or - for a single snapshot")
	}
	s, err := f.open(a, paths, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	target, err := newTarget(f.out, len(s.Heads), a.out)
	if err != nil {
		return err
	}
	symbols, err := f.resolve(a, s)
	if err != nil {
		return err
	}
	c := convert.New(s, symbols)
	c.Tool = "heaplapse " + version()
	bar := newProgress(a.err, "writing profiles")
	defer bar.done()
	return s.Each(0, func(snap *heapfile.Snapshot) error {
		p := c.Profile(snap)
		if err := convert.Check(p, snap); err != nil {
			return err
		}
		defer bar.update(snap.Index+1, len(s.Heads))
		return target.write(snap, p)
	})
}

// target is where converted snapshots go.
type target struct {
	dir    string // if a directory
	file   string // if a file
	stdout io.Writer
}

// newTarget decides what -o means: - is standard output, a path that looks like a profile's is a file,
// anything else a directory.
func newTarget(out string, snapshots int, stdout io.Writer) (*target, error) {
	info, err := os.Stat(out)
	isDir := err == nil && info.IsDir()
	single := !isDir && (out == "-" || (err == nil && !isDir) || looksLikeProfile(out))
	if single && snapshots != 1 {
		return nil, fmt.Errorf("-o %s: %d snapshots do not fit in one file: name a directory", out, snapshots)
	}
	switch {
	case out == "-":
		return &target{stdout: stdout}, nil
	case single:
		return &target{file: out, stdout: stdout}, nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	return &target{dir: out, stdout: stdout}, nil
}

func looksLikeProfile(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".gz" || ext == ".pb" || ext == ".pprof" || ext == ".prof"
}

func (t *target) write(s *heapfile.Snapshot, p *profile.Profile) error {
	if t.file == "" && t.dir == "" {
		return p.Write(t.stdout)
	}
	path := t.file
	if t.dir != "" {
		path = filepath.Join(t.dir, convert.FileName(s.Path))
	}
	if err := convert.WriteFile(path, p); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.stdout, path)
	return err
}
