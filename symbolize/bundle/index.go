package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Schema is the version of the format that this package writes and reads.
const Schema = "heaplapse.bundle/1"

// Suffix is what the names of bundles end in.
const Suffix = ".heaplapse.tar.zst"

// indexName is the first entry of the archive.
const indexName = "heaplapse.bundle.json"

// Index says what the other entries are.
type Index struct {
	Schema string `json:"schema"`
	// Writer is the version of heaplapse.
	Writer    string     `json:"heaplapse"`
	Snapshots []Snapshot `json:"snapshots"`
	// Sidecars are the recorder's manifests, each beside the snapshots of its directory.
	Sidecars []Sidecar `json:"sidecars"`
	Search   Search    `json:"search"`
	Files    []File    `json:"files"`
	// Fetched came from debuginfod servers.
	Fetched   []Fetched   `json:"fetched"`
	Processes []Generated `json:"generated"`
}

// Snapshot is one snapshot file, as it was.
type Snapshot struct {
	Entry string `json:"entry"`
	// Path is what commands call it.
	Path     string    `json:"path"`
	Modified time.Time `json:"modified"`
	// Named: it was named on the command line, rather than found in a directory.
	Named bool `json:"named,omitempty"`
}

// Sidecar is a manifest.
type Sidecar struct {
	Entry string `json:"entry"`
	Path  string `json:"path"`
}

// Search is where files were looked for: the options of the command that wrote the bundle.
type Search struct {
	Binary    string   `json:"binary,omitempty"`
	Sysroot   string   `json:"sysroot,omitempty"`
	DebugDirs []string `json:"debug_dirs,omitempty"`
}

// File is a file that names come from: a program, a library, a debug file, a perf map.
type File struct {
	Path string `json:"path"`
	// Entry has the file's size, but of its content only what was used: the rest is zero. "" if the file could not be used;
	// Error says why.
	Entry    string    `json:"entry,omitempty"`
	Error    string    `json:"error,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Kept     int64     `json:"kept_bytes,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	// CRC is the CRC-32 of the whole file, where a .gnu_debuglink asks for it.
	CRC *uint32 `json:"crc32,omitempty"`
}

// Fetched is the path of a file that a debuginfod server had.
type Fetched struct {
	BuildID string `json:"build_id"`
	Kind    string `json:"kind"` // executable or debuginfo
	Path    string `json:"path"`
}

// Generated is the perf maps and jitdumps of a process.
type Generated struct {
	Process string   `json:"process"`
	Paths   []string `json:"paths"`
}

// maxIndex caps the index, in bytes: a hundred thousand snapshots take 20 MB.
const maxIndex = 64 << 20

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
		return nil, fmt.Errorf("%s: schema %q, want %q: written by another version of heaplapse", indexName, ix.Schema, Schema)
	}
	return ix, ix.check()
}

// entries are the names of the entries, and the times that they had.
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

// check refuses names that would lead out of the directory that a bundle is unpacked to.
func (ix *Index) check() error {
	if len(ix.Snapshots) == 0 {
		return errors.New("it holds no snapshots")
	}
	for name := range ix.entries() {
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." || strings.ContainsAny(name, "\\\x00") {
			return fmt.Errorf("%s: %q is not the name of an entry", indexName, name)
		}
	}
	return nil
}
