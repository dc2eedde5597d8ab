package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// run runs heaplapse. The error has what it wrote to standard error.
func (c *checker) run(args ...string) ([]byte, error) {
	cmd := exec.Command(c.heaplapse, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return out, err
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// info is a part of what `heaplapse info --format json` prints.
type info struct {
	Snapshots []struct {
		Producer, Format string
		Heap             struct {
			InuseObjects int64 `json:"inuse_objects"`
			InuseBytes   int64 `json:"inuse_bytes"`
			AllocObjects int64 `json:"alloc_objects"`
		}
	}
}

func (c *checker) info(path string) (*info, error) {
	out, err := c.run("info", "-q", "--format", "json", path)
	if err != nil {
		return nil, err
	}
	i := &info{}
	if err := json.Unmarshal(out, i); err != nil {
		return nil, err
	}
	if len(i.Snapshots) == 0 {
		return nil, errors.New("no snapshots")
	}
	return i, nil
}

func (c *checker) read(path string) error {
	_, err := c.info(path)
	return err
}

// producer returns what heaplapse says of a file: its format and producer.
func (c *checker) producer(path string) string {
	i, err := c.info(path)
	if err != nil {
		return err.Error()
	}
	s := i.Snapshots[0]
	return fmt.Sprintf("%s %s, %d snapshots", s.Format, s.Producer, len(i.Snapshots))
}

// massif compares the bytes of each detailed snapshot with its header.
func (c *checker) massif(path string, content []byte) error {
	var want []int64
	var bytesNow int64
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, maxSize)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		switch {
		case key == "mem_heap_B":
			bytesNow, _ = strconv.ParseInt(value, 10, 64)
		case key == "heap_tree" && value != "empty":
			want = append(want, bytesNow)
		}
	}
	i, err := c.info(path)
	switch {
	case err != nil && len(want) == 0:
		return refusal(lastLine(err.Error()))
	case err != nil:
		return err
	case len(i.Snapshots) != len(want):
		return fmt.Errorf("%d snapshots, want %d", len(i.Snapshots), len(want))
	}
	for n, s := range i.Snapshots {
		if s.Heap.InuseBytes != want[n] {
			return fmt.Errorf("detailed snapshot %d: %d bytes, want %d", n+1, s.Heap.InuseBytes, want[n])
		}
	}
	return nil
}

func heaptrackHeader(first []byte) bool {
	return regexp.MustCompile(`^v [0-9a-f]+( [0-9a-f]+)?$`).Match(first)
}

// interpreter is the program with which heaptrack interprets raw recordings, in Debian.
const interpreter = "/usr/lib/heaptrack/libexec/heaptrack_interpret"

var (
	calls  = regexp.MustCompile(`(?m)^calls to allocation functions: (\d+)`)
	leaked = regexp.MustCompile(`(?m)^total memory leaked: (\S+)$`)
)

// heaptrack compares the end of a recording with the totals that heaptrack_print prints. It reads
// interpreted recordings only.
func (c *checker) heaptrack(path string, content []byte) error {
	interpreted := path
	if raw := bytes.Contains(content, []byte("\nx ")); raw {
		out, err := os.CreateTemp("", "conformance-*.heaptrack")
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(out.Name()) }()
		cmd := exec.Command(interpreter)
		cmd.Stdin, cmd.Stdout = bytes.NewReader(content), out
		if err := errors.Join(cmd.Run(), out.Close()); err != nil {
			return err
		}
		interpreted = out.Name()
	}
	text, err := exec.Command("heaptrack_print", "-f", interpreted, "-p", "0", "-a", "0", "-l", "0",
		"--disable-embedded-suppressions", "--disable-builtin-suppressions").CombinedOutput()
	if err != nil {
		return refusal(fmt.Sprintf("heaptrack_print: %v", err))
	}
	i, err := c.info(path)
	if err != nil {
		return err
	}
	last := i.Snapshots[len(i.Snapshots)-1].Heap
	m := calls.FindSubmatch(text)
	if m == nil {
		return refusal("heaptrack_print prints no totals")
	}
	if n, _ := strconv.ParseInt(string(m[1]), 10, 64); n != last.AllocObjects {
		return fmt.Errorf("%d allocations, want %d", last.AllocObjects, n)
	}
	if m = leaked.FindSubmatch(text); m == nil || string(m[1]) != sizeText(last.InuseBytes) {
		return fmt.Errorf("%s in use at the end, want %q", sizeText(last.InuseBytes), m)
	}
	return nil
}

// sizeText formats a number of bytes as heaptrack_print does: 1.23M, in units of 1000.
func sizeText(n int64) string {
	size, units := float64(n), []string{"B", "K", "M", "G", "T"}
	i := 0
	for ; i+1 < len(units) && size > 1000; i++ {
		size /= 1000
	}
	if i == 0 {
		return fmt.Sprintf("%d%s", n, units[0])
	}
	return fmt.Sprintf("%.2f%s", size, units[i])
}
