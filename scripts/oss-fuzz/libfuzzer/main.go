//go:build libfuzzer

// Command libfuzzer is a library that libFuzzer calls. The variable target, which the linker sets,
// selects what it fuzzes: one binary is built per target, see build.sh.
//
// The targets of `make fuzz` cannot be built for libFuzzer: many are in external test packages or
// call helpers with a testing.TB.
package main

// #include <stddef.h>
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

var target string

// targets read hostile bytes. An error must name the input, which is called "input".
var targets = map[string]func(data []byte) error{
	"snapshot":     func(b []byte) error { _, err := heapfile.Read(bytes.NewReader(b), "input"); return err },
	"manifest":     func(b []byte) error { _, err := manifest.Read(bytes.NewReader(b), "input"); return err },
	"baseline":     func(b []byte) error { _, err := baseline.Read(bytes.NewReader(b), "input"); return err },
	"config":       func(b []byte) error { _, err := config.Parse(b, "input", time.Unix(0, 0)); return err },
	"suppressions": func(b []byte) error { _, err := suppress.Parse(string(b), "input", time.Unix(0, 0)); return err },
	"rules":        func(b []byte) error { _, err := class.ParseRules(string(b), "input"); return err },
	"elf":          elf,
	"bundle":       unbundle,
	"series":       seriesOf,
}

//export LLVMFuzzerTestOneInput
func LLVMFuzzerTestOneInput(data *C.char, size C.size_t) C.int {
	input := bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(data)), int(size)))
	if err := targets[target](input); err != nil && !strings.Contains(err.Error(), "input") {
		panic(fmt.Sprintf("the error does not name the input: %v", err))
	}
	return 0
}

// inFile calls a function with a file that has the content.
func inFile(data []byte, read func(path string) error) error {
	dir, err := os.MkdirTemp("", "input")
	if err != nil {
		return nil // the machine is at fault
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "input.0001.heap")
	if os.WriteFile(path, data, 0o600) != nil {
		return nil
	}
	return read(path)
}

// elf names some addresses of a program.
func elf(data []byte) error {
	return inFile(data, func(path string) error {
		_, err := symbolize.ELF(context.Background(), path, []uint64{0, 0x1000, 0x401000, ^uint64(0)}, symbolize.Options{})
		return err
	})
}

// unbundle reads an archive.
func unbundle(data []byte) error {
	b, err := bundle.Read(bytes.NewReader(data), int64(len(data)), "input")
	if err == nil {
		err = b.Close()
	}
	return err
}

// seriesOf converts a series of one snapshot.
func seriesOf(data []byte) error {
	return inFile(data, func(path string) error {
		s, err := series.Open([]string{path}, series.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		symbols, err := symbolize.Resolve(context.Background(), s, symbolize.Options{Sysroot: filepath.Dir(path)})
		if err != nil {
			return err
		}
		c, err := convert.New(s, symbols, convert.Options{})
		if err != nil {
			return err
		}
		snapshot, err := s.Read(0)
		if err != nil {
			return err
		}
		samples, err := c.Samples(snapshot)
		if err == nil {
			_, err = c.JSON(samples).WriteTo(io.Discard)
		}
		return err
	})
}

func main() {}
