package evidence

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// maxLine is the part of a line that is read. The rest of a longer line is skipped: it is the end
// of a C++ name, or other output of the program.
const maxLine = 1 << 20

// Lines of a report:
//
//	==27779==ERROR: LeakSanitizer: detected memory leaks
//
//	Direct leak of 491520 byte(s) in 30 object(s) allocated from:
//	    #0 0x7f791e2b94c8 in operator new(unsigned long) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:95
//	    #1 0x55f68fefed3f in Client::fetch(long) /src/service.cc:29:15
//	    #2 0x55f68fefed40 in serve (/opt/bin/service+0x4d40) (BuildId: a02d2355c3145e47)
//	    #3 0x55f68fefed41  (/opt/bin/service+0x4d41)
//
//	SUMMARY: AddressSanitizer: 491520 byte(s) leaked in 30 allocation(s).
var (
	reportLine = lazyregexp.New(`^==([0-9]+)==\s*ERROR: LeakSanitizer: detected memory leaks`)
	leakLine   = lazyregexp.New(`^(Direct|Indirect) leak of ([0-9]+) byte\(s\) in ([0-9]+) object\(s\) allocated from:`)
	frameLine  = lazyregexp.New(`^\s+#[0-9]+ 0x([0-9a-fA-F]+)\s*(?:in )?(.*)$`)
	buildID    = lazyregexp.New(` \(BuildId: ([0-9a-fA-F]+)\)$`)
	moduleOf   = lazyregexp.New(`^(.*?) ?\((/?[^()]*)\+0x([0-9a-fA-F]+)\)$`)
	placeOf    = lazyregexp.New(`^(.*?) (/[^ ].*|[^ ]+)$`)
	lineOf     = lazyregexp.New(`^(.+?):([0-9]+)(?::[0-9]+)?$`)
	lastLine   = lazyregexp.New(`^SUMMARY: \w+Sanitizer: [0-9]+ byte\(s\) leaked in`)
	colors     = lazyregexp.New("\x1b\\[[0-9;]*m")

	memcheckLine = lazyregexp.New(`^==[0-9]+== Memcheck, a memory error detector`)
)

// textReader reads a text with reports of LeakSanitizer.
type textReader struct {
	*builder
	process string // of the report
	record  *Record
	open    int // reports whose end was not read yet
}

func (b *builder) text(in *bufio.Reader) error {
	r := &textReader{builder: b}
	for number := 1; ; number++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return r.end(number)
		}
		if err == nil {
			err = r.line(line, number)
		}
		if err != nil {
			return err
		}
	}
}

// end checks that all reports are complete.
func (r *textReader) end(line int) error {
	if r.open > 0 {
		return r.fail(line, "the file ends in the middle of a report, before its SUMMARY: was the program killed?")
	}
	return r.flush()
}

// readLine returns the next line, or its first maxLine bytes. It is valid until the next call.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if err == io.EOF && text != "" {
		err = nil
	}
	return text, err
}

func (r *textReader) line(line string, number int) error {
	if strings.IndexByte(line, '\x1b') >= 0 {
		line = colors().ReplaceAllString(line, "")
	}
	if r.record != nil && strings.HasPrefix(line, " ") {
		if m := frameLine().FindStringSubmatch(line); m != nil {
			return r.addFrame(m[1], m[2], number)
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if strings.HasPrefix(line, "==") {
		return r.mark(line, number)
	}
	if m := leakLine().FindStringSubmatch(line); m != nil {
		return r.begin(m, number)
	}
	if lastLine().MatchString(line) {
		r.open--
	}
	return nil
}

// mark handles a line with the number of a process.
func (r *textReader) mark(line string, number int) error {
	if m := reportLine().FindStringSubmatch(line); m != nil {
		r.process, r.report.Tool = m[1], LeakSanitizer
		r.open++
	}
	if memcheckLine().MatchString(line) {
		return r.fail(number, "memcheck's report as text: "+remedy)
	}
	return nil
}

// begin begins a record.
func (r *textReader) begin(m []string, number int) error {
	record := Record{Line: number}
	if m[1] == "Indirect" {
		record.Kind = Indirect
	}
	var err, err2 error
	record.Bytes, err = strconv.ParseInt(m[2], 10, 64)
	record.Blocks, err2 = strconv.ParseInt(m[3], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return r.fail(number, "not the size of a leak")
	}
	r.record, r.report.Tool = &record, LeakSanitizer
	return nil
}

// flush adds the record that has begun.
func (r *textReader) flush() error {
	if r.record == nil {
		return nil
	}
	record := r.record
	r.record = nil
	if n := len(record.Frames); n > 0 && record.Frames[n-1].Function == "_start" {
		r.report.Program = record.Frames[n-1].Module
	}
	return r.add(r.process, record)
}

// addFrame adds a frame. what follows its address.
func (r *textReader) addFrame(address, what string, number int) error {
	f, err := parseFrame(address, what)
	if err != nil {
		return r.fail(number, "not the address of a frame: "+err.Error())
	}
	r.frame(r.record, f)
	return nil
}

// parseFrame parses "FUNCTION FILE:LINE:COLUMN", "FUNCTION (MODULE+0xOFFSET)" or
// "(MODULE+0xOFFSET)", each with the build ID after it or without.
func parseFrame(address, what string) (f ReportFrame, err error) {
	if f.Address, err = strconv.ParseUint(address, 16, 64); err != nil {
		return f, err
	}
	if m := buildID().FindStringSubmatch(what); m != nil {
		f.BuildID, what = strings.ToLower(m[1]), strings.TrimSuffix(what, m[0])
	}
	if m := moduleOf().FindStringSubmatch(what); m != nil {
		f.Function, f.Module = m[1], m[2]
		offset, err := strconv.ParseUint(m[3], 16, 64)
		if f.Function == "" {
			f.Offset = offset
		}
		return f, err
	}
	m := placeOf().FindStringSubmatch(what)
	switch {
	case what == "(<unknown module>)":
		return f, nil
	case m == nil:
		f.Function = what
		return f, nil
	}
	f.Function = m[1]
	if m[2] == "<null>" {
		return f, nil
	}
	f.File = m[2]
	if m := lineOf().FindStringSubmatch(f.File); m != nil {
		line, err := strconv.ParseInt(m[2], 10, 32)
		f.File, f.Line = m[1], int(line)
		return f, err
	}
	return f, nil
}
