package jit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
)

// A frames file has the functions of a script that heaplapse's engine found on stacks. In the place
// of an interpreter's loop, the engine writes addresses of its own choice, which no process maps.
// The first line of the file names the schema, each further line one address:
//
//	{"schema":"heaplapse.frames/1","pid":4711,"image":0,"start_ns":1790000000000000000}
//	{"address":"0x100000000000010","function":"handle","file":"/srv/app.py","line":9,"language":"python"}
//
// Older engines knew Python only, and did not write the language. A last line without a newline is
// still being written and is ignored. Other malformed lines are skipped, because a full disk may
// have cut them.

// framesSchema is the version of frames files that this package reads.
const framesSchema = "heaplapse.frames/1"

// python is the language of lines that name none.
const python = "python"

// framesHead is how a frames file begins.
const framesHead = `{"schema"`

// Addresses of the engine begin at syntheticBase and have a distance of syntheticStep. Address A
// names (A-syntheticStep, A], so that readers may subtract 1, as from a return address.
const (
	syntheticBase = 1 << 56
	syntheticEnd  = 1 << 57
	syntheticStep = 16
)

// frameLine is a line of a frames file.
type frameLine struct {
	Schema   string `json:"schema"`
	Address  string `json:"address"`
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Language string `json:"language"`
}

// framesReader reads the lines of a frames file.
type framesReader struct {
	m     *Map
	files map[string]string // names of source files, each once
	n     int               // lines read
}

func readFrames(in *bufio.Reader) (*Map, error) {
	r := framesReader{m: &Map{Kind: Frames}, files: map[string]string{}}
	err := eachLine(in, func(line []byte) error {
		switch {
		case line == nil:
			r.n++
			r.skip(fmt.Errorf("the line has more than %d bytes", maxName))
		case bytes.HasSuffix(line, []byte("\n")):
			return r.add(bytes.TrimSpace(line))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.m.finish()
	return r.m, nil
}

// add adds a line. It returns an error if the rest of the file cannot be used.
func (r *framesReader) add(text []byte) error {
	r.n++
	var parsed frameLine
	err := json.Unmarshal(text, &parsed)
	if r.n == 1 {
		return checkSchema(parsed.Schema, err)
	}
	address, err := parsed.check(err)
	if err != nil {
		r.skip(err)
		return nil
	}
	r.m.add(entry{
		start: address - syntheticStep, size: syntheticStep, name: parsed.Function,
		lines: []line{{file: r.file(parsed.File), number: int(parsed.Line)}},
	})
	r.addLanguage(address-syntheticStep, &parsed)
	return r.m.checkLimits()
}

// addLanguage keeps the language of a line, unless it is Python.
func (r *framesReader) addLanguage(start uint64, l *frameLine) {
	if l.Language == "" || l.Language == python {
		return
	}
	if r.m.languages == nil {
		r.m.languages = map[uint64]string{}
	}
	r.m.languages[start] = r.file(l.Language)
}

// checkSchema checks the first line, which err is the error of.
func checkSchema(schema string, err error) error {
	if err == nil && schema != framesSchema {
		err = fmt.Errorf("schema %q, want %q: written by another version of heaplapse", clip(schema), framesSchema)
	}
	if err != nil {
		return &lineError{1, err}
	}
	return nil
}

// check returns the address of a line. err is that of its decoding.
func (l *frameLine) check(err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	address, err := strconv.ParseUint(l.Address, 0, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the address %q is not a number", clip(l.Address))
	case address <= syntheticBase || address >= syntheticEnd || address%syntheticStep != 0:
		return 0, fmt.Errorf("the engine does not use the address %#x", address)
	case l.Function == "":
		return 0, fmt.Errorf("the address %#x has no function", address)
	}
	return address, nil
}

// file returns the name of a source file or of a language, so that equal ones share memory.
func (r *framesReader) file(name string) string {
	known, ok := r.files[name]
	if !ok {
		r.m.text += len(name)
		r.files[name] = name
		known = name
	}
	return known
}

// skip keeps the error of the first malformed line.
func (r *framesReader) skip(err error) {
	if r.m.Skipped == nil {
		r.m.Skipped = &lineError{r.n, err}
	}
}

// script returns the function of an entry of a frames file. Marks such as [mmap] have no file, and
// no language.
func (m *Map) script(e *entry) Symbol {
	at := e.lines[0]
	s := Symbol{Function: e.name, File: at.file, Line: at.number}
	if s.File != "" {
		s.Language = cmp.Or(m.languages[e.start], python)
	}
	return s
}

// maxQuoted is the length at which a text from a file is clipped in a message, in bytes.
const maxQuoted = 80

func clip(s string) string { return s[:min(len(s), maxQuoted)] }
