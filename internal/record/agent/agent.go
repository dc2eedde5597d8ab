// Package agent embeds the library that record preloads together with the allocator. The agent
// changes the names of snapshots, and makes the allocator take snapshots on a timer and before a
// signal ends the program. Its source is src/agent.c. `make agent` runs build.sh, which builds it.
// A test compares the result with the committed files.
package agent

import (
	"debug/elf"
	_ "embed" // the agents

	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

var (
	//go:embed agent-x86_64.so
	x86 []byte
	//go:embed agent-aarch64.so
	arm []byte
)

// Name is the base name of the agent's file.
const Name = "heaplapse-agent.so"

// For returns the agent for a processor, or nil if there is none.
func For(m elf.Machine) []byte { return preloadfile.ForMachine(m, x86, arm) }
