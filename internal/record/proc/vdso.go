//go:build linux

package proc

import (
	"fmt"
	"os"
	"strings"
)

// ReadVDSO returns a copy of [vdso] in the memory of this process, or nil if there is none.
func ReadVDSO() ([]byte, error) {
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
		return OwnMemory(start, end-start)
	}
	return nil, nil
}

// OwnMemory returns a copy of a range of this process's memory.
func OwnMemory(address, size int64) ([]byte, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	out := make([]byte, size)
	_, err = memory.ReadAt(out, address)
	return out, err
}
