// Package answer has what a look at a process tells about what holds its memory. It is what is written to files and
// shown by reports.
//
// It has names of types, modules, functions, variables, attributes and threads only: no key and no value of the
// program's data.
package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Schema is the version that this package reads and writes.
const Schema = "heaplapse.holders/1"

// Look is what was seen of a process at one moment.
type Look struct {
	Schema string `json:"schema"`
	PID    int    `json:"pid"`
	// Program is the base name of the file that the process runs.
	Program string    `json:"program"`
	Time    time.Time `json:"time"`
	// Stopped is for how long the threads of the process were stopped.
	Stopped time.Duration `json:"stopped_ns"`
	// Refused is why the process was not looked at. Nothing else is known then.
	Refused string `json:"refused,omitempty"`
	// Blocks and Bytes are what the allocators have handed out, with what they need for themselves.
	Blocks int64 `json:"blocks"`
	Bytes  int64 `json:"bytes"`
	// Doubts lists why a block that seems to be lost may be held. If there is any, nothing is said to be lost.
	Doubts []string `json:"doubts,omitempty"`
	// Recorded reports whether heaplapse's engine records the process while groups are asked for.
	Recorded bool `json:"recorded,omitempty"`
	// Sites has the answers about sampled blocks, and Groups those about the blocks of one size or type.
	Sites  []Site  `json:"sites,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	// Resident is where the resident memory is: an rss.Result. It is empty if that was not asked.
	Resident json.RawMessage `json:"resident,omitempty"`
}

// LeastOld is the number of live samples from the first half of a recording that a line of the program
// must have, so that what holds them is told. If all its live samples are from there, as in a table
// that is resized, fewer are enough.
const LeastOld = 8

// Site is about the live samples of one call path that are from the first half of a recording. Looked is 0 if there are
// none.
type Site struct {
	// Stack has the addresses of the call path as the snapshots have them, the leaf first.
	Stack []Address `json:"stack"`
	// Live is the number of live samples of the call path. Old is the number of those from the first half of the
	// recording.
	Live int `json:"live"`
	Old  int `json:"old"`
	Held
}

// Group is about the blocks of one size or type.
type Group struct {
	// Type is that of the objects in the blocks, or "" if it is unknown.
	Type string `json:"type,omitempty"`
	// Least and Most are the sizes of the blocks in bytes, with what the allocator needs for itself.
	Least int64 `json:"least_bytes"`
	Most  int64 `json:"most_bytes"`
	// Blocks is the number of these blocks, and Bytes the sum of their sizes.
	Blocks int64 `json:"blocks"`
	Bytes  int64 `json:"bytes"`
	Held
}

// Held tells what holds some blocks.
type Held struct {
	// Looked is the number of blocks that were looked at: a choice of all.
	Looked int `json:"looked"`
	// By has what holds them, the most frequent first.
	By []Holder `json:"by"`
	// All reports whether these are all live samples of a site: then few tell what holds it.
	All bool `json:"-"`
}

// Kind is what holds a block.
type Kind string

// Kinds of holders.
const (
	Module   Kind = "module"       // a module of Python
	Frame    Kind = "frame"        // a running function of Python
	Global   Kind = "global"       // a global variable
	Kernel   Kind = "kernel"       // the kernel, such as epoll_ctl(2)
	TLS      Kind = "thread-local" // a thread-local variable
	Stack    Kind = "stack"        // the stack or the registers of a thread
	Unknown  Kind = "unknown"      // memory whose content is not understood
	Shared   Kind = "shared"       // memory that is shared with other processes
	Doubtful Kind = "doubtful"     // only words that are most likely no pointers
	Lost     Kind = "lost"         // nothing points to it, or only blocks that are lost
	Cycle    Kind = "cycle"        // lost blocks that hold each other
	NotFound Kind = "not-found"    // the block is in memory that is not understood
)

// Holder is what holds some blocks.
type Holder struct {
	// Blocks is the number of blocks that it holds, of those that were looked at.
	Blocks int  `json:"blocks"`
	Kind   Kind `json:"kind"`
	// Name is that of the variable, module, function of Python or thread. A variable without a name is a place, such
	// as "libfoo.so+0x4010".
	Name string `json:"name,omitempty"`
	// Type is that of the variable, or shared_ptr for a cycle with such pointers. Module is the file that has the
	// variable. File and Line are where it or the function is defined.
	Type   string `json:"type,omitempty"`
	Module string `json:"module,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Function is the one that the thread runs.
	Function string `json:"function,omitempty"`
	// Variable is the local variable of Function, if it is known on a stack, and Parameter reports whether it is a
	// parameter. Type, Module, File and Line are those of the variable then.
	Variable  string `json:"variable,omitempty"`
	Parameter bool   `json:"parameter,omitempty"`
	Path      []Step `json:"path,omitempty"`
}

// Step is one object on the way to a block. See the type of the same name of package names. The zero value stands for
// one or several blocks of which nothing is known; there is none at the end of a way.
type Step struct {
	Via    string `json:"via,omitempty"`
	Type   string `json:"type,omitempty"`
	Length int64  `json:"length,omitempty"` // 0: none, empty or unknown
	Limit  int64  `json:"limit,omitempty"`
	Links  int    `json:"links,omitempty"`
}

// Address is an address of a call path. JSON has it as a string, because numbers of JSON lose digits.
type Address uint64

// MarshalText returns the address in hexadecimal, with 0x.
func (a Address) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(a)), nil }

// UnmarshalText reads what MarshalText returns.
func (a *Address) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "0x%x", (*uint64)(a))
	if err != nil {
		return fmt.Errorf("%q is no address", text)
	}
	return nil
}

// Write writes a look as one line of JSON.
func Write(w io.Writer, l *Look) error { return json.NewEncoder(w).Encode(l) }

// maxLine limits the bytes of a look in a file.
const maxLine = 64 << 20

// ErrSchema is wrapped by the error of Read about a look of another version.
var ErrSchema = errors.New("not " + Schema)

// Read reads the looks in a file of JSON Lines, in its order. called is the name for errors, which have the number of
// the line. A last line without an end is an interrupted one, and left out.
func Read(r io.Reader, called string) (looks []*Look, err error) {
	in := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return looks, nil
		}
		var l Look
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err == nil && l.Schema != Schema {
			err = fmt.Errorf("schema %q: %w", l.Schema, ErrSchema)
		}
		if err != nil {
			return looks, fmt.Errorf("%s: line %d: %w", called, line, err)
		}
		looks = append(looks, &l)
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}
