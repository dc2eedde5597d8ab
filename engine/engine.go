// Package engine embeds the built-in engine, a heap profiler that record preloads and attach loads.
// It samples allocations and writes snapshots. Its sources are in src; engine.h and stack.h are the interfaces
// between their parts. `make engine` runs build.sh, which builds it. A test compares the result
// with the committed files.
package engine

import (
	"debug/elf"
	_ "embed" // the engines

	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

var (
	//go:embed heaplapse-x86_64.so
	x86 []byte
	//go:embed heaplapse-aarch64.so
	arm []byte
)

//go:embed stub-x86_64.bin
var stub []byte

// Stub returns the code that loads the engine into a running process, or nil if there is none for the
// processor. See src/attach/stub.S.
func Stub(m elf.Machine) []byte { return preloadfile.ForMachine(m, stub, nil) }

// Name is the base name of the engine's file.
const Name = "heaplapse-engine.so"

// Variable is the name of the environment variable that configures the engine.
const Variable = "HEAPLAPSE_ENGINE"

// Object returns the engine for a processor, or nil if there is none.
func Object(m elf.Machine) []byte { return preloadfile.ForMachine(m, x86, arm) }
