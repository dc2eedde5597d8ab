//go:build linux && amd64

package attach

import (
	"debug/elf"
	"encoding/binary"
	"errors"

	"github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

// The scratch memory: the context, the stack of the borrowed thread, and the code.
const (
	scratchSize = 0x1c000
	codeOffset  = scratchSize - 0x1000
	codeSize    = 0x1000
)

// Offsets in the context, as in preload/src/attach/stub.S.
const (
	atFunctions = 0x00 // pthread_create, __errno_location, dlopen, dlsym, dlerror
	atCreated   = 0x30
	atReturned  = 0x34
	atState     = 0x38
	atFilled    = 0x3c
	atFile      = 0x40
	atEntry     = 0x58
	atPause     = 0x60
	atName      = 0x100
	atSymbol    = 0x120
	atPath      = 0x140
	atError     = 0x240
	atBoot      = 0x400
	atFrame     = 0x2000
	atVectors   = 0x2200
)

// States of the stub.
const (
	stubFile   = 1
	stubFailed = 2
	stubLoaded = 3
)

const (
	pauseTime    = 1000000 // ns
	fileName     = "heaplapse"
	entrySymbol  = "heaplapse_attach_main"
	errorSize    = 256
	bootHeader   = 24 // bytes before the settings: address and size of the scratch memory, number of the helper
	settingsSize = 3584
)

var errFunctions = errors.New("the C library lacks pthread_create, dlopen, dlsym or dlerror")

// newContext returns the content of the context, without what [complete] adds. It searches the memory
// of the process for functions, so it is called while no thread is stopped. entry is the engine's
// function if the engine is there already. number is that of the helper.
func newContext(p *target.Process, entry uint64, number uint32, settings string) ([]byte, error) {
	b := make([]byte, atFrame)
	for i, name := range []string{"pthread_create", "__errno_location", "dlopen", "dlsym", "dlerror"} {
		f := p.Function(name)
		if f.Start == 0 {
			return nil, errFunctions
		}
		binary.LittleEndian.PutUint64(b[atFunctions+8*i:], f.Start)
	}
	binary.LittleEndian.PutUint64(b[atEntry:], entry)
	binary.LittleEndian.PutUint64(b[atPause+8:], pauseTime)
	copy(b[atName:], fileName)
	copy(b[atSymbol:], entrySymbol)
	if len(settings) >= settingsSize {
		return nil, errors.New("the path of the recording is too long")
	}
	binary.LittleEndian.PutUint64(b[atBoot+bootHeader-8:], uint64(number))
	copy(b[atBoot+bootHeader:], settings)
	return b, nil
}

// complete returns a context with its address and the frame that restores a thread.
func complete(context []byte, at uint64, t *tracer.Thread) []byte {
	b := append([]byte(nil), context...)
	binary.LittleEndian.PutUint64(b[atBoot:], at)
	binary.LittleEndian.PutUint64(b[atBoot+8:], scratchSize)
	return append(b, t.Frame(at+atVectors)...)
}

// stub returns the code.
func stub() []byte { return engine.Stub(elf.EM_X86_64) }
