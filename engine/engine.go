// Package engine embeds the built-in engine, a heap profiler that record preloads and attach loads, and
// the adapter, which sends the snapshots of other allocators. Their sources are in src. `make engine` runs
// build.sh, which builds them. A test compares the result with the committed files.
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

var (
	//go:embed adapter-x86_64.so
	adapterX86 []byte
	//go:embed adapter-aarch64.so
	adapterArm []byte
)

//go:embed stub-x86_64.bin
var stub []byte

// Stub returns the code that loads the engine into a running process, or nil if there is none for the
// processor. See src/attach/stub.S.
func Stub(m elf.Machine) []byte { return preloadfile.ForMachine(m, stub, nil) }

// Name is the base name of the engine's file.
const Name = "heaplapse-engine.so"

// AdapterName is the base name of the adapter's file.
const AdapterName = "heaplapse-adapter.so"

// Variable is the name of the environment variable that configures the engine.
const Variable = "HEAPLAPSE_ENGINE"

// Object returns the engine for a processor, or nil if there is none.
func Object(m elf.Machine) []byte { return preloadfile.ForMachine(m, x86, arm) }

// Adapter returns the adapter for a processor, or nil if there is none.
func Adapter(m elf.Machine) []byte { return preloadfile.ForMachine(m, adapterX86, adapterArm) }
