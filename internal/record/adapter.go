//go:build linux

package record

import (
	"debug/elf"
	"fmt"

	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

// adapterPrefix begins the names of the snapshots of tcmalloc and jemalloc. No file can have such a
// name: the adapter sees it, and sends the snapshot. It is HL_DUMP_PREFIX of
// engine/src/adapter/dump.h.
const adapterPrefix = "/dev/null/heaplapse"

// adapterSetting returns the variable that configures the adapter. The signal is the allocator's
// own matter.
func adapterSetting(o *Options) Setting { return engineSetting(o, 0, 0) }

// store writes a library of ours to a directory from which it can be loaded. object returns it for
// a processor, or nil if there is none. what is what the library is, for the user.
func (p *Plan) store(name, what string, object func(elf.Machine) []byte) (path string, err error) {
	machine := p.Target.ABI().Machine
	content := object(machine)
	if content == nil {
		return "", fmt.Errorf("there is no %s for this processor (%v)", what, machine)
	}
	path, err = preloadfile.Write(name, content, p.outputParent())
	return path, notRecorded(err)
}
