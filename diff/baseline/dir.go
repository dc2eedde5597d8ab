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
)

// pinFile holds the name of the pinned baseline of a directory.
const pinFile = "pinned"

// durable makes a file survive a crash of the machine right after it was saved.
var durable = atomicfile.Options{Sync: true}

// Save adds a run to a directory, which is made if need be, and returns the path of the new file. The file is whole, and on the disk,
// before it has its name. The same run is saved once. now orders a run whose time is not known.
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

// fileName sorts by time. The hash keeps runs apart that one build made in the same second.
func fileName(r *Run, content []byte) string {
	sum := sha256.Sum256(content)
	build := r.Meta.BuildID[:min(12, len(r.Meta.BuildID))]
	if strings.Trim(build, "0123456789abcdef") != "" {
		build = "" // from a file: it must not name another directory
	}
	stamp := r.Meta.When().UTC().Format("20060102T150405Z")
	return fmt.Sprintf("%s-%s-%s%s", stamp, cmp.Or(build, "nobuild"), hex.EncodeToString(sum[:4]), Suffix)
}

// Pin makes a baseline of a directory the pinned one, by its name or path.
func Pin(dir, name string) error {
	name = NameOf(name)
	if _, err := os.Stat(filepath.Join(dir, name+Suffix)); err != nil {
		return fmt.Errorf("no baseline %s in %s: heaplapse baseline list %s shows their names", name, dir, dir)
	}
	return atomicfile.Write(filepath.Join(dir, pinFile), durable, func(w io.Writer) error {
		_, err := io.WriteString(w, name+"\n")
		return err
	})
}

// Entry is one file of a pool.
type Entry struct {
	Path      string
	Size      int64
	Reference bool
	Run       *Run
}

// Set is the baselines of a directory, the oldest first.
type Set struct {
	Dir     string
	Entries []Entry
	// Problems are files that cannot be read, and a pin that leads nowhere.
	Problems []error
}

// IsSet says whether a path is a directory that holds baselines.
func IsSet(path string) bool {
	names, err := baselines(path)
	return err == nil && len(names) > 0
}

// baselines are the names of the files, sorted.
func baselines(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), Suffix) && e.Name()[0] != '.' {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Open reads a directory of baselines. A file that is pruned meanwhile is not there.
func Open(dir string) (*Set, error) {
	names, err := baselines(dir)
	if err != nil {
		return nil, err
	}
	p := &Set{Dir: dir}
	pinned, err := pinnedName(dir)
	if err != nil {
		p.Problems = append(p.Problems, err)
	}
	for _, name := range names {
		p.add(filepath.Join(dir, name), pinned)
	}
	if pinned != "" && p.Reference() == nil {
		p.Problems = append(p.Problems, fmt.Errorf("%s: names %q, which is not there or cannot be read: pin another one with heaplapse baseline pin", filepath.Join(dir, pinFile), pinned))
	}
	slices.SortStableFunc(p.Entries, func(a, b Entry) int {
		return cmp.Or(a.Run.Meta.When().Compare(b.Run.Meta.When()), strings.Compare(a.Path, b.Path))
	})
	return p, nil
}

func (p *Set) add(path, pinned string) {
	run, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.Problems = append(p.Problems, err)
		return
	}
	e := Entry{Path: path, Run: run, Reference: pinned != "" && run.Meta.Name == pinned}
	if info, err := os.Stat(path); err == nil {
		e.Size = info.Size()
	}
	p.Entries = append(p.Entries, e)
}

// Pinned is the pinned entry, nil for none.
func (p *Set) Reference() *Entry {
	for i := range p.Entries {
		if p.Entries[i].Reference {
			return &p.Entries[i]
		}
	}
	return nil
}

func pinnedName(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, pinFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Old are the entries beyond the last keep ones, the pinned one left out: what [Prune] removes.
func (p *Set) Old(keep int) (out []Entry) {
	for i := range max(0, len(p.Entries)-keep) {
		if !p.Entries[i].Reference {
			out = append(out, p.Entries[i])
		}
	}
	return out
}

// Prune removes entries, and what saves that were killed have left: hidden files of more than a day. It returns the paths of the
// baselines that are gone.
func (p *Set) Prune(old []Entry) (removed []string, err error) {
	var errs []error
	for _, e := range old {
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, e.Path)
	}
	return removed, errors.Join(append(errs, removeLeftovers(p.Dir))...)
}

// removeLeftovers removes the hidden files of saves that were killed, once no save can still be at them.
func removeLeftovers(dir string) error {
	list, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range list {
		if !atomicfile.IsTemporary(e.Name()) || !strings.Contains(e.Name(), Suffix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
