package files

import (
	"cmp"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Held is the Source of the files of a process that a recorder holds open.
type Held struct {
	Host
	// Root is the root directory of the process, or "" if it is that of this machine.
	Root string
	// Files has the paths at which files can be read that are held, by their paths in the process.
	Files map[string]string
}

func (h Held) at(path string) string { return cmp.Or(h.Files[path], h.Root+path) }

// Open implements [Source].
func (h Held) Open(path string) (*elffile.File, error) {
	if path == VDSO {
		return h.Host.Open(path)
	}
	return elffile.OpenAs(path, h.at(path))
}

// CRC implements [Source].
func (h Held) CRC(path string) (uint32, error) { return h.Host.CRC(h.at(path)) }
