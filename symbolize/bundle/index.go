package bundle

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Schema names the format that this package writes and reads.
const Schema = "heaplapse.bundle/1"

// Suffix is the end of the name of a bundle.
const Suffix = ".heaplapse.tar.zst"

// indexName is the first entry of the archive.
const indexName = "heaplapse.bundle.json"

// Index describes the other entries.
type Index struct {
	Schema string `json:"schema"`
	// Writer is the version of heaplapse.
	Writer    string     `json:"heaplapse"`
	Snapshots []Snapshot `json:"snapshots"`
	// Sidecars are the recorder's manifests, and what it saw of what holds the memory, each in the directory of its
	// snapshots.
	Sidecars []Sidecar `json:"sidecars"`
	Search   Search    `json:"search"`
	Files    []File    `json:"files"`
	// Fetched are files from debuginfod servers.
	Fetched   []Fetched   `json:"fetched"`
	Processes []Generated `json:"generated"`
}

// Snapshot is one snapshot file, unchanged.
type Snapshot struct {
	Entry string `json:"entry"`
	// Path is the path that commands print.
	Path     string    `json:"path"`
	Modified time.Time `json:"modified"`
	// Named is true for a file on the command line, false for a file found in a directory.
	Named bool `json:"named,omitempty"`
}

// Sidecar is an entry that holds such a file.
type Sidecar struct {
	Entry string `json:"entry"`
	Path  string `json:"path"`
}

// Search has the options of the command that wrote the bundle.
type Search struct {
	Binary    string   `json:"binary,omitempty"`
	Sysroot   string   `json:"sysroot,omitempty"`
	DebugDirs []string `json:"debug_dirs,omitempty"`
}

// File is a file with symbols: a program, a library, a debug file, a perf map.
type File struct {
	Path string `json:"path"`
	// Entry has the size of the file, and the parts that were read; the rest is zero. It is "" if
	// the file could not be used, for the reason in Error.
	Entry    string    `json:"entry,omitempty"`
	Error    string    `json:"error,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Kept     int64     `json:"kept_bytes,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	// CRC is the CRC-32 of the whole file, if a .gnu_debuglink needs it.
	CRC *uint32 `json:"crc32,omitempty"`
}

// Fetched is the path of a file from a debuginfod server.
type Fetched struct {
	BuildID string `json:"build_id"`
	Kind    string `json:"kind"` // executable or debuginfo
	Path    string `json:"path"`
}

// Generated lists the perf maps and jitdumps of a process.
type Generated struct {
	Process string   `json:"process"`
	Paths   []string `json:"paths"`
}

// maxIndex limits the size of the index, in bytes. A hundred thousand snapshots take 20 MB.
const maxIndex = 64 << 20

// readIndex reads and checks the index.
func readIndex(r io.Reader) (*Index, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxIndex+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxIndex {
		return nil, fmt.Errorf("%s has more than %d bytes", indexName, maxIndex)
	}
	ix := &Index{}
	if err := json.Unmarshal(text, ix); err != nil {
		return nil, fmt.Errorf("%s: %w", indexName, err)
	}
	if ix.Schema != Schema {
		return nil, fmt.Errorf(
			"%s: schema %q, want %q: written by another version of heaplapse",
			indexName,
			ix.Schema,
			Schema,
		)
	}
	return ix, ix.check()
}

// entries returns the names of the entries and their modification times.
func (ix *Index) entries() map[string]time.Time {
	out := map[string]time.Time{}
	for _, s := range ix.Snapshots {
		out[s.Entry] = s.Modified
	}
	for _, s := range ix.Sidecars {
		out[s.Entry] = time.Time{}
	}
	for _, f := range ix.Files {
		if f.Entry != "" {
			out[f.Entry] = f.Modified
		}
	}
	return out
}

// check rejects names that lead out of the directory for the unpacked files.
func (ix *Index) check() error {
	for name := range ix.entries() {
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." || strings.ContainsAny(name, "\\\x00") {
			return fmt.Errorf("%s: %q is not the name of an entry", indexName, name)
		}
	}
	return nil
}
