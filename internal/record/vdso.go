//go:build linux

package record

import (
	"bytes"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// keepVDSO copies [vdso], the ELF image that the kernel maps into every process and that no file
// contains. The image of this process equals that of the program. keepVDSO does nothing if the
// kernel has none.
func keepVDSO(dir string, out *manifest.Writer) error {
	image, err := proc.ReadVDSO()
	if err != nil || image == nil {
		return nil //nolint:nilerr // a recording is useful without the names of [vdso]
	}
	if err := writeAtomic(filepath.Join(dir, manifest.VDSOFile), 0o644, bytes.NewReader(image)); err != nil {
		return err
	}
	return out.File(manifest.File{File: manifest.VDSOFile, Path: "[vdso]", Kind: "vdso"})
}
