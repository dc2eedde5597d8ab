package convert

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
)

// FileName is the name under which a snapshot is converted: leaky.0001.pb.gz for dir/leaky.0001.heap.gz.
func FileName(snapshot string) string {
	base := heapfile.TrimCompression(filepath.Base(snapshot))
	if ext := filepath.Ext(base); ext == ".heap" {
		base = base[:len(base)-len(ext)]
	}
	return base + ".pb.gz"
}

// WriteFile writes a compressed profile whole or not at all: an existing file is
// replaced only once the new one is complete.
func WriteFile(path string, p *profile.Profile) error {
	return writeWhole(path, p.Write)
}

func writeWhole(path string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	err = errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
