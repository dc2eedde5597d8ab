//go:build linux

package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// keepVDSO writes down the ELF image that the kernel maps into every process, [vdso]: no file has it. This process's own is that of the
// program. A kernel without one is no fault.
func keepVDSO(dir string, out *manifest.Writer) error {
	image, err := readVDSO()
	if err != nil || image == nil {
		return nil //nolint:nilerr // names of [vdso] are no reason not to record
	}
	if err := writeWhole(filepath.Join(dir, manifest.VDSOFile), 0o644, bytes.NewReader(image)); err != nil {
		return err
	}
	return out.File(manifest.File{File: manifest.VDSOFile, Path: "[vdso]", Kind: "vdso"})
}

// readVDSO copies the image out of this process's memory; nil if there is none.
func readVDSO() ([]byte, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(maps)) {
		var start, end int64
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
			return nil, err
		}
		return ownMemory(start, end-start)
	}
	return nil, nil
}

// ownMemory copies a part of this process's memory.
func ownMemory(address, size int64) ([]byte, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	out := make([]byte, size)
	_, err = memory.ReadAt(out, address)
	return out, err
}
