//go:build linux

package rss

import (
	"fmt"
	"os"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// Kernel is what the kernel says of the memory of a process.
type Kernel struct {
	PID      int
	program  string
	mappings []kernelMapping
}

// ReadKernel reads /proc/PID/smaps.
func ReadKernel(pid int) (*Kernel, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k := &Kernel{PID: pid, program: proc.ProgramName(pid)}
	if k.mappings, err = parseSmaps(f); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	if len(k.mappings) == 0 { // a zombie, or a thread of the kernel
		return nil, fmt.Errorf("process %d has no memory", pid)
	}
	return k, nil
}
