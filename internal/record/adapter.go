//go:build linux

package record

import (
	"fmt"

	preload "github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

// adapterPrefix begins the names of the snapshots of tcmalloc and jemalloc. No file can have such a name:
// the adapter sees it, and sends the snapshot. It is HL_DUMP_PREFIX of engine/src/adapter/dump.h.
const adapterPrefix = "/dev/null/heaplapse"

// adapterSetting returns the variable that configures the adapter. The signal is the allocator's own
// matter.
func adapterSetting(o *Options) Setting { return engineSetting(o, 0, 0) }

// storeAdapter writes the adapter to a directory from which it can be loaded.
func (p *Plan) storeAdapter() (path string, err error) {
	machine := p.Target.ABI().Machine
	object := preload.Adapter(machine)
	if object == nil {
		return "", fmt.Errorf("there is no adapter of allocators for this processor (%v)", machine)
	}
	path, err = preloadfile.Write(preload.AdapterName, object, p.outputParent())
	return path, notRecorded(err)
}
