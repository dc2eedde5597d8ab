package baseline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// pinFile holds the name of the reference run of a directory.
const pinFile = "pinned"

// durable flushes a file to the disk, so that it survives a crash of the machine.
var durable = atomicfile.Options{Sync: true}

// ErrNotFound means that a directory has no baseline with the name.
var ErrNotFound = errors.New("no such baseline")

// Save adds a run to a directory, which it creates if it does not exist, and returns the path of
// the new file. A run that was saved before has the same file. now is the time of a run without a
// clock.
func Save(dir string, r *Run, now time.Time) (string, error) {
	if r.Meta.Recorded.IsZero() {
		dated := *r
		dated.Meta.Saved = now.UTC().Truncate(time.Millisecond)
		r = &dated
	}
	content, err := encode(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fileName(r, content))
	return path, atomicfile.Write(path, durable, func(w io.Writer) error { return compress(w, content) })
}

// fileName returns a name that sorts by time. The hash differs between runs of one build in the
// same second.
func fileName(r *Run, content []byte) string {
	sum := sha256.Sum256(content)
	build := r.Meta.BuildID[:min(12, len(r.Meta.BuildID))]
	if strings.Trim(build, "0123456789abcdef") != "" {
		build = "" // a build ID is read from a file: it must not lead to another directory
	}
	stamp := r.Meta.When().UTC().Format("20060102T150405Z")
	return fmt.Sprintf("%s-%s-%s%s", stamp, cmp.Or(build, "nobuild"), hex.EncodeToString(sum[:4]), Suffix)
}

// Pin makes a baseline the reference run of its directory. name is its name or path.
func Pin(dir, name string) error {
	name = NameOf(name)
	if _, err := os.Stat(filepath.Join(dir, name+Suffix)); err != nil {
		return fmt.Errorf("%s: %w: %s", dir, ErrNotFound, name)
	}
	return atomicfile.Write(filepath.Join(dir, pinFile), durable, func(w io.Writer) error {
		_, err := io.WriteString(w, name+"\n")
		return err
	})
}

// Entry is one file of a set.
type Entry struct {
	Path string
	Size int64 // of the file, in bytes
	// Reference reports whether it is the reference run.
	Reference bool
	Run       *Run
}

// Set is the baselines of a directory, the oldest first.
type Set struct {
	Dir     string
	Entries []Entry
	// Problems are errors of files that cannot be read, and of a reference run that is missing.
	Problems []error
}

// IsSet reports whether a path is a directory that holds baselines.
func IsSet(path string) bool {
	names, err := baselines(path)
	return err == nil && len(names) > 0
}

// baselines returns the names of the files, sorted.
func baselines(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), Suffix) && e.Name()[0] != '.' {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Open reads a directory of baselines. A file that disappears meanwhile, because it is pruned, is
// not an error.
func Open(dir string) (*Set, error) {
	names, err := baselines(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: dir}
	reference, err := referenceName(dir)
	if err != nil {
		s.Problems = append(s.Problems, err)
	}
	for _, name := range names {
		s.add(filepath.Join(dir, name), reference)
	}
	if reference != "" && s.Reference() == nil {
		const format = "%s: the reference run %q is missing or cannot be read: pin another run"
		err := fmt.Errorf(format, filepath.Join(dir, pinFile), reference)
		s.Problems = append(s.Problems, err)
	}
	slices.SortStableFunc(s.Entries, func(a, b Entry) int {
		return cmp.Or(a.Run.Meta.When().Compare(b.Run.Meta.When()), strings.Compare(a.Path, b.Path))
	})
	return s, nil
}

func (s *Set) add(path, reference string) {
	run, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.Problems = append(s.Problems, err)
		return
	}
	e := Entry{Path: path, Run: run, Reference: reference != "" && run.Meta.Name == reference}
	if info, err := os.Stat(path); err == nil {
		e.Size = info.Size()
	}
	s.Entries = append(s.Entries, e)
}

// Reference returns the entry of the reference run, or nil if there is none.
func (s *Set) Reference() *Entry {
	for i := range s.Entries {
		if s.Entries[i].Reference {
			return &s.Entries[i]
		}
	}
	return nil
}

// referenceName returns the name of the reference run, or "" if there is none.
func referenceName(dir string) (string, error) {
	f, _, err := infile.Open(filepath.Join(dir, pinFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096)) // longer than any name
	return strings.TrimSpace(string(text)), err
}

// Old returns the entries before the last keep ones, without the reference run. They are the
// argument of [Set.Prune].
func (s *Set) Old(keep int) (out []Entry) {
	for i := range max(0, len(s.Entries)-keep) {
		if !s.Entries[i].Reference {
			out = append(out, s.Entries[i])
		}
	}
	return out
}

// Prune removes entries. It returns the paths of the baselines that it removed.
func (s *Set) Prune(old []Entry) (removed []string, err error) {
	var errs []error
	for _, e := range old {
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, e.Path)
	}
	return removed, errors.Join(errs...)
}
