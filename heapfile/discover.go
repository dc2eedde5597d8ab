package heapfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// Problem is a path that could not be used.
type Problem struct {
	Path string
	Err  error
	// Named: the user named this very file, rather than a directory or
	// pattern that led to it.
	Named bool
}

func (p Problem) Error() string { return p.Err.Error() }
func (p Problem) Unwrap() error { return p.Err }

// sourceFile is a snapshot that was found.
type sourceFile struct {
	path  string // as it is called in output
	open  string // where its bytes are: differs from path for what was spooled
	name  FileName
	named bool
}

// discovery is the state of finding the files of some paths.
type discovery struct {
	stdin    io.Reader
	spool    []string // temporary files
	files    []sourceFile
	problems []Problem
}

func (d *discovery) addAll(paths []string) {
	for _, p := range paths {
		if err := d.addPath(p); err != nil {
			d.problems = append(d.problems, Problem{Path: p, Err: err, Named: true})
		}
	}
}

// addPath takes a directory, a file, a prefix, a glob or - for standard input.
func (d *discovery) addPath(path string) error {
	if path == "-" {
		return d.addStream(d.stdin, "standard input")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return d.addDir(path)
	case err == nil && !info.Mode().IsRegular():
		return d.addPipe(path)
	case err == nil:
		d.addFile(path, true)
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return pathError(path, err)
	case strings.ContainsAny(path, "*?["):
		return d.addGlob(path)
	}
	return d.addPrefix(path)
}

func (d *discovery) addFile(path string, named bool) {
	d.files = append(d.files, sourceFile{path: path, open: path, name: ParseFileName(path), named: named})
}

// Source is the file of a snapshot.
type Source struct {
	// Path is what it is called, Open is where its bytes are: two things for what was copied here from another machine. A
	// sidecar lies beside the bytes.
	Path, Open string
	// Named: the user named this very file.
	Named bool
}

func (d *discovery) addSources(list []Source) {
	for _, s := range list {
		d.files = append(d.files, sourceFile{path: s.Path, open: s.Open, name: ParseFileName(s.Path), named: s.Named})
	}
}

// hasSnapshotName says whether a directory's entry is taken for a snapshot.
func hasSnapshotName(name string) bool {
	return strings.HasSuffix(TrimCompression(name), ".heap")
}

func (d *discovery) addDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return pathError(dir, err)
	}
	before := len(d.files)
	for _, e := range entries {
		if hasSnapshotName(e.Name()) && !e.IsDir() {
			d.addFile(filepath.Join(dir, e.Name()), false)
		}
	}
	if len(d.files) == before {
		return fmt.Errorf("%s: %w in this directory (*.heap, *.heap.gz, *.heap.zst)", dir, ErrNoSnapshots)
	}
	return nil
}

func (d *discovery) addGlob(pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("%s: not a valid pattern: %w", pattern, err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s: %w match this pattern", pattern, ErrNoSnapshots)
	}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			d.addFile(p, false)
		}
	}
	return nil
}

// addPrefix finds /tmp/profile.0001.heap, /tmp/profile_4711.0001.heap and
// /tmp/profile.4711.0.i0.heap for /tmp/profile.
func (d *discovery) addPrefix(prefix string) error {
	notFound := fmt.Errorf("%s: no such file or directory, and %w have this prefix", prefix, ErrNoSnapshots)
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil || base == "" {
		return notFound
	}
	before := len(d.files)
	for _, e := range entries {
		path := dir + e.Name()
		if hasSnapshotName(e.Name()) && !e.IsDir() && ofPrefix(ParseFileName(path), prefix) {
			d.addFile(path, false)
		}
	}
	if len(d.files) == before {
		return notFound
	}
	return nil
}

func ofPrefix(n FileName, prefix string) bool {
	if n.Seq < 0 {
		return false
	}
	rest, ok := strings.CutPrefix(n.Prefix, prefix)
	if n.PID != 0 {
		rest = strings.TrimSuffix(rest, fmt.Sprintf("_%d", n.PID))
	}
	return ok && (rest == "" || isInfix(rest, n.Jemalloc))
}

// isInfix recognises what an allocator puts between prefix and number: .rank-3
// and .slurmid-3 (gperftools under MPI and Slurm), .1 (jemalloc's PID namespace).
func isInfix(s string, jemalloc bool) bool {
	for _, lead := range []string{".rank-", ".slurmid-"} {
		if rank, ok := strings.CutPrefix(s, lead); ok {
			_, ok = number(rank)
			return ok
		}
	}
	_, isNumber := number(strings.TrimPrefix(s, "."))
	return jemalloc && s[0] == '.' && isNumber
}

// addPipe spools what can be read only once, like a shell's <(…).
func (d *discovery) addPipe(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return pathError(path, err)
	}
	defer f.Close()
	return d.addStream(f, path)
}

func (d *discovery) addStream(r io.Reader, called string) error {
	if r == nil {
		return fmt.Errorf("%s: not available here", called)
	}
	tmp, err := os.CreateTemp("", "heaplapse-stdin-*")
	if err != nil {
		return fmt.Errorf("%s: cannot be kept: %w", called, err)
	}
	d.spool = append(d.spool, tmp.Name())
	_, err = io.Copy(tmp, r)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("%s: cannot be kept: %w", called, err)
	}
	d.files = append(d.files, sourceFile{path: called, open: tmp.Name(), name: FileName{Prefix: called, Seq: -1}, named: true})
	return nil
}

// Process is one process that wrote snapshots, as far as file names tell.
type Process struct {
	// Prefix is the part of the names that its files share, "" for files
	// without numbers.
	Prefix string
	PID    int // 0 where names do not tell
	Files  int
	// PeakInuse is the largest in-use total of its headers, in bytes (estimated
	// for sampled formats is larger); it is computed only where there is a choice.
	PeakInuse int64
	// Command and Exe are what it ran, End how it ended, where a recorder noted that.
	Command []string
	Exe     string
	End     *manifest.End

	parent int // 0 where it was not recorded
	files  []sourceFile
}

// Title is String with the command line, where that is known: 4711 (python3 train.py).
func (p Process) Title() string {
	if len(p.Command) == 0 {
		return p.String()
	}
	return fmt.Sprintf("%s (%s)", p, p.CommandLine())
}

// maxCommandLine is the longest command line that is shown, in characters.
const maxCommandLine = 120

// CommandLine is what the process ran, on one line and shortened.
func (p Process) CommandLine() string {
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' ' // the lines of python3 -c for one
		}
		return r
	}, strings.Join(p.Command, " ")))
	if len(line) > maxCommandLine {
		return string(line[:maxCommandLine-1]) + "…"
	}
	return string(line)
}

// String is how --process names it: 4711, or the prefix where there is no number.
func (p Process) String() string {
	if p.PID != 0 {
		return fmt.Sprint(p.PID)
	}
	return cmp.Or(p.Prefix, "files without numbers")
}

// processes groups files by process and puts each group in order: by number,
// files without a number in the order in which they were given (a directory's by name).
func (d *discovery) processes(known sidecars) []Process {
	var out []Process
	index := map[string]int{}
	files := dropDuplicates(d.files)
	slices.SortStableFunc(files, func(a, b sourceFile) int { return cmp.Compare(a.name.Seq, b.name.Seq) })
	known.owners(files)
	for _, f := range files {
		key := processKey(f.name)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			p := Process{PID: f.name.PID}
			if f.name.Seq >= 0 {
				p.Prefix = f.name.Prefix
			}
			out = append(out, p)
		}
		out[i].files = append(out[i].files, f)
		out[i].Files++
	}
	for i := range out {
		known.of(out[i].files[0]).describe(&out[i])
	}
	return out
}

func processKey(n FileName) string {
	switch {
	case n.Seq >= 0:
		return fmt.Sprintf("%s\x00%d", n.Prefix, n.PID)
	case n.PID != 0:
		return fmt.Sprintf("\x00%d", n.PID)
	}
	return ""
}

// dropDuplicates keeps a file once that was named twice, or that lies beside
// its own compressed form.
func dropDuplicates(files []sourceFile) []sourceFile {
	var out []sourceFile
	seen := map[string]int{} // place in out
	for _, f := range files {
		key := TrimCompression(filepath.Clean(f.path))
		i, ok := seen[key]
		if !ok {
			seen[key] = len(out)
			out = append(out, f)
			continue
		}
		out[i].named = out[i].named || f.named
	}
	return out
}
