// Package files provides the files for symbolization: programs, libraries, debug files, perf maps.
//
// A [Source] has the files of the machine that ran the recorded process, by the paths that they
// have there. [Host] reads them on this machine, package bundle reads them from an archive, and
// [Recorder] records what is read from another source. [Search] knows where the files of a module
// are.
package files

import (
	"context"
	"io"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Source opens files by path. It is safe for concurrent use.
type Source interface {
	// Open opens an ELF file. The error wraps [io/fs.ErrNotExist] if there is no such file.
	Open(path string) (*elffile.File, error)
	// CRC returns the CRC-32 of a file.
	CRC(path string) (uint32, error)
	// Fetch opens the file of a kind that debuginfod servers have for a build ID. It returns nil if
	// they have none.
	Fetch(ctx context.Context, buildID, kind string) *elffile.File
	// InDir opens a file directly in DIR that has a build ID and names, or DIR itself if it is such a file. It returns
	// nil if there is none.
	InDir(dir, buildID string) *elffile.File
	// OpenMap opens a perf map or a jitdump. If users is not nil, every user can make a file of this
	// name: it must belong to root or to one of users, be regular, and not be a symbolic link.
	OpenMap(path string, users []int) (io.ReadCloser, error)
}

const (
	// VDSOMapping is the kernel's name for the library that it maps into every process.
	VDSOMapping = "[vdso]"
	// VDSO is the path by which a Source has the image of that library.
	VDSO = "/[vdso]"
)
