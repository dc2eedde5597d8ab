//go:build linux

package record

import (
	"bytes"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// keepVDSO writes down the ELF image that the kernel maps into every process, [vdso]: no file has it. This process's own is that of the
// program. A kernel without one is no fault.
func keepVDSO(dir string, out *manifest.Writer) error {
	image, err := proc.ReadVDSO()
	if err != nil || image == nil {
		return nil //nolint:nilerr // names of [vdso] are no reason not to record
	}
	if err := writeWhole(filepath.Join(dir, manifest.VDSOFile), 0o644, bytes.NewReader(image)); err != nil {
		return err
	}
	return out.File(manifest.File{File: manifest.VDSOFile, Path: "[vdso]", Kind: "vdso"})
}
