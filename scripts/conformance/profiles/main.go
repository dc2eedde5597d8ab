// Profiles runs heaplapse on the heap profiles below some directories, and compares what it reads
// with other readers.
//
//	go run -C scripts ./conformance/profiles HEAPLAPSE DIR…
//
// Files are recognized by content; equal files are read once. It prints a line for each file. The
// exit status is 1 if a file differs.
//
//   - pprof profiles and the texts of tcmalloc: `heaplapse convert` writes a profile, which must have
//     the rows that google/pprof reads in the file, with the same functions, files and lines. What
//     google/pprof reads as a profile of something else than the heap must be refused.
//   - massif: the bytes of each detailed snapshot must be those of its mem_heap_B line.
//   - heaptrack: the bytes and objects in use at the end, and those allocated, must be those that
//     heaptrack_print reports without suppressions.
//   - the texts of jemalloc: heaplapse must read them; there is no other reader of its estimates.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"
)

const maxSize = 64 << 20

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: profiles HEAPLAPSE DIR…")
		os.Exit(2)
	}
	c := checker{heaplapse: os.Args[1], seen: map[[sha256.Size]byte]bool{}}
	for _, dir := range os.Args[2:] {
		if err := c.walk(dir); err != nil {
			fmt.Fprintln(os.Stderr, "profiles:", err)
			os.Exit(2)
		}
	}
	fmt.Printf("%d files: %d equal, %d refused as they should be, %d differ\n", c.equal+c.refused+c.differ, c.equal, c.refused, c.differ)
	if c.differ > 0 {
		os.Exit(1)
	}
}

type checker struct {
	heaplapse              string
	seen                   map[[sha256.Size]byte]bool
	equal, refused, differ int
}

func (c *checker) walk(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/.git/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > maxSize {
			return err
		}
		if sum := sha256.Sum256(data); !c.seen[sum] {
			c.seen[sum] = true
			c.file(path, data)
		}
		return nil
	})
}

// file checks a file, if it is one of the kinds that are compared.
func (c *checker) file(path string, data []byte) {
	content := unpacked(data)
	var err error
	var kind string
	switch first, _, _ := bytes.Cut(content[:min(len(content), 200)], []byte("\n")); {
	case bytes.HasPrefix(first, []byte("desc:")) && bytes.Contains(content, []byte("\nheap_tree=")):
		kind, err = "massif", c.massif(path, content)
	case heaptrackHeader(first) && bytes.Contains(content, []byte("\nX ")):
		kind, err = "heaptrack", c.heaptrack(path, content)
	case bytes.HasPrefix(first, []byte("heap_v2/")):
		kind, err = "jemalloc", c.read(path)
	default:
		p, parsed := parse(content)
		if parsed != nil {
			return
		}
		kind, err = "pprof", c.pprof(path, p)
	}
	c.report(kind, path, err)
}

// refusal is the result for a file that heaplapse must not read as a heap.
type refusal string

func (e refusal) Error() string { return string(e) }

func (c *checker) report(kind, path string, err error) {
	switch refused := refusal(""); {
	case err == nil:
		c.equal++
		fmt.Printf("equal    %-10s %s: %s\n", kind, path, c.producer(path))
	case errors.As(err, &refused):
		c.refused++
		fmt.Printf("refused  %-10s %s: %s\n", kind, path, refused)
	default:
		c.differ++
		fmt.Printf("DIFFERS  %-10s %s: %v\n", kind, path, err)
	}
}

// unpacked returns the content of a file that may be compressed.
func unpacked(data []byte) []byte {
	var r io.Reader
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return data
		}
		r = z
	case bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			return data
		}
		defer z.Close()
		r = z
	default:
		return data
	}
	out, _ := io.ReadAll(io.LimitReader(r, 16*maxSize)) // a file that was cut is read as far as it goes
	return out
}

// parse reads a profile with google/pprof. Texts that it takes for profiles of the CPU are left
// out: almost any text is one.
func parse(content []byte) (p *profile.Profile, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("pprof panics: %v", r)
		}
	}()
	if bytes.HasPrefix(content, []byte("heap profile:")) {
		return profile.ParseData(content)
	}
	if len(content) == 0 {
		return nil, io.EOF
	}
	p, err = profile.ParseUncompressed(content)
	if err == nil && len(p.Sample) == 0 {
		err = errors.New("no samples")
	}
	if err == nil {
		err = p.CheckValid()
	}
	return p, err
}

// pprof compares the rows of a profile with those that `heaplapse convert` writes.
func (c *checker) pprof(path string, p *profile.Profile) error {
	col := columnsOf(p)
	out, err := os.CreateTemp("", "conformance-*.pb.gz")
	if err != nil {
		return err
	}
	out.Close()
	defer func() { _ = os.Remove(out.Name()) }()
	_, failed := c.run("convert", "-q", "--demangle", "none", "--keep-allocator-frames", "--no-cache", path,
		"-o", out.Name())
	if col.inuse() < 0 || p.DurationNanos > 0 || negative(p) {
		if failed == nil {
			return fmt.Errorf("it is read, but is no heap profile of one moment: %v, %v", p.SampleType, p.DurationNanos)
		}
		return refusal(lastLine(failed.Error()))
	}
	if failed != nil {
		return failed
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		return err
	}
	converted, err := profile.ParseData(data)
	if err != nil {
		return fmt.Errorf("google/pprof cannot read the converted profile: %w", err)
	}
	want, got := rowsOf(p, col), rowsOf(converted, columnsOf(converted))
	for stack, counts := range want {
		if got[stack] != counts {
			return fmt.Errorf("%d rows, converted %d; want %v, got %v for %s", len(want), len(got), counts, got[stack], stack)
		}
	}
	if len(want) != len(got) {
		for stack := range got {
			if _, ok := want[stack]; !ok {
				return fmt.Errorf("%d rows, converted %d, among them %s", len(want), len(got), stack)
			}
		}
	}
	return nil
}

func negative(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return slices.Min(s.Value) < 0 })
}

// columns are the positions of the sample types: objects and bytes in use, and allocated.
type columns [4]int

func columnsOf(p *profile.Profile) columns {
	c := columns{-1, -1, -1, -1}
	for i, t := range p.SampleType {
		switch t.Type {
		case "inuse_objects", "objects", "goroutine":
			c[0] = i
		case "inuse_space", "space":
			c[1] = i
		case "alloc_objects":
			c[2] = i
		case "alloc_space":
			c[3] = i
		}
	}
	return c
}

// inuse is the column of what is in use: bytes, or goroutines.
func (c columns) inuse() int {
	if c[1] < 0 {
		return c[0]
	}
	return c[1]
}

// rowsOf returns the counts by stack. Goroutines have no bytes of their own.
func rowsOf(p *profile.Profile, c columns) map[string][4]int64 {
	rows := map[string][4]int64{}
	goroutines := c[0] >= 0 && p.SampleType[c[0]].Type == "goroutine"
	for _, s := range p.Sample {
		var counts [4]int64
		for i, column := range c {
			if column >= 0 && (i != 1 || !goroutines) {
				counts[i] = s.Value[column]
			}
		}
		if counts == ([4]int64{}) {
			continue
		}
		stack := stackOf(s)
		sum := rows[stack]
		for i := range sum {
			sum[i] += counts[i]
		}
		rows[stack] = sum
	}
	return rows
}

// stackOf returns the functions of a sample as text, innermost first; addresses where there are
// none.
func stackOf(s *profile.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		if len(l.Line) == 0 || unnamed.MatchString(l.Line[0].Function.Name) {
			fmt.Fprintf(&b, "%#x;", l.Address)
			continue
		}
		for _, ln := range l.Line {
			fmt.Fprintf(&b, "%s %s:%d;", ln.Function.Name, strings.TrimPrefix(ln.Function.Filename, builtins), ln.Line)
		}
	}
	return b.String()
}

// unnamed matches what heaplapse writes for an address without a name, such as server+0x1f2e.
var unnamed = regexp.MustCompile(`^0x[0-9a-f]+$|\+0x[0-9a-f]+$`)

// builtins is the file that heaplapse gives to functions of V8, which have none in a profile.
const builtins = "node:builtins"
