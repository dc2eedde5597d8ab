// Package agent holds the library that record preloads before the allocator. It names the snapshot files and takes
// snapshots on a timer, before an exec and at the end. agent.c is its source; build.sh builds it (`make agent`), and a
// test compares the result with the committed files.
package agent

import (
	"debug/elf"
	_ "embed" // the agents
)

var (
	//go:embed agent-x86_64.so
	x86 []byte
	//go:embed agent-aarch64.so
	arm []byte
)

// Name is the name of the agent's file.
const Name = "heaplapse-agent.so"

// For returns the agent for a processor, or nil if there is none.
func For(m elf.Machine) []byte {
	switch m {
	case elf.EM_X86_64:
		return x86
	case elf.EM_AARCH64:
		return arm
	}
	return nil
}
