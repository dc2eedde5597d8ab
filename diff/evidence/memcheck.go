package evidence

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// maxToken bounds an element's name with its attributes, and a text: names of C++ may have some
// hundred KiB.
const maxToken = 1 << 20

// maxDepth bounds elements within elements. Memcheck's are six deep.
const maxDepth = 32

// kinds are the kinds of errors that are leaks.
var kinds = map[string]Kind{
	"Leak_DefinitelyLost": Definite,
	"Leak_IndirectlyLost": Indirect,
	"Leak_PossiblyLost":   Possible,
	"Leak_StillReachable": Reachable,
}

// memcheckReader reads memcheck's XML. Other errors than leaks are skipped.
type memcheckReader struct {
	*builder
	in      *xml.Decoder
	limit   *tokenLimit
	path    []string // the names of the open elements
	text    strings.Builder
	seen    bool   // the root element
	process string // its ID

	record Record
	leak   bool // the record is one
	frame  ReportFrame
	dir    string
}

func (b *builder) memcheck(in *bufio.Reader) error {
	limit := &tokenLimit{in: in}
	r := &memcheckReader{builder: b, in: xml.NewDecoder(limit), limit: limit}
	for {
		limit.read = 0
		token, err := r.in.RawToken() // Token would keep the names of all open elements
		switch {
		case errors.Is(err, io.EOF):
			return r.end()
		case errors.Is(err, errToken):
			return r.fail(r.line(), err.Error())
		case err != nil:
			return r.failed(err)
		}
		if err := r.token(token); err != nil {
			return err
		}
	}
}

// failed wraps an error of the decoder.
func (r *memcheckReader) failed(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case !errors.As(err, &syntax):
		return &heapfile.SyntaxError{File: r.report.Path, Line: r.line(), Msg: "cannot be read", Err: err}
	case strings.Contains(syntax.Msg, "unexpected EOF"):
		return r.end()
	}
	return r.fail(syntax.Line, "malformed XML: "+syntax.Msg)
}

// end checks that the file is complete.
func (r *memcheckReader) end() error {
	switch {
	case !r.seen:
		return r.fail(r.line(), "not a report of leaks: "+remedy)
	case len(r.path) > 0:
		return r.fail(r.line(), "the file ends in the middle: was the program killed, or does it still run?")
	}
	return nil
}

func (r *memcheckReader) line() int {
	line, _ := r.in.InputPos()
	return line
}

func (r *memcheckReader) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.open(t.Name.Local)
	case xml.CharData:
		r.text.Write(t)
		if r.text.Len() > maxToken {
			return r.fail(r.line(), errToken.Error())
		}
	case xml.EndElement:
		return r.close(t.Name.Local)
	}
	return nil
}

func (r *memcheckReader) open(name string) error {
	switch {
	case len(r.path) == 0 && (name != "valgrindoutput" || r.seen):
		return r.fail(r.line(), "not a report of leaks: "+remedy)
	case len(r.path) == maxDepth:
		return r.fail(r.line(), "too many elements within elements")
	}
	r.seen = true
	r.path = append(r.path, name)
	r.text.Reset()
	switch r.at() {
	case "error":
		r.record, r.leak = Record{Line: r.line()}, false
	case "error/stack/frame":
		r.frame, r.dir = ReportFrame{}, ""
	}
	return nil
}

// at is the path of the current element below the root.
func (r *memcheckReader) at() string { return strings.Join(r.path[1:], "/") }

func (r *memcheckReader) close(name string) error {
	if len(r.path) == 0 || r.path[len(r.path)-1] != name {
		return r.fail(r.line(), "malformed XML: </"+name+"> closes nothing")
	}
	err := r.element(r.at(), strings.TrimSpace(r.text.String()))
	r.path = r.path[:len(r.path)-1]
	r.text.Reset()
	return err
}

// element handles the end of an element.
func (r *memcheckReader) element(at, text string) error {
	switch at {
	case "protocolversion":
		if text != "4" && text != "5" { // 5 adds open files
			return r.fail(r.line(), "version "+strconv.Quote(text)+" of valgrind's XML: want 4 or 5")
		}
	case "protocoltool":
		if text != Memcheck {
			return r.fail(r.line(), "a report of valgrind's tool "+strconv.Quote(text)+": only memcheck finds leaks")
		}
		r.report.Tool = Memcheck
	case "pid":
		r.process = text
	case "args/argv/exe":
		r.report.Program = r.share(text)
	case "error":
		if r.leak {
			r.record.Bytes -= r.record.IndirectBytes // leakedbytes includes them
			return r.add(r.process, &r.record)
		}
	case "error/kind":
		r.record.Kind, r.leak = kinds[text]
	case "error/xwhat/text":
		return r.amounts(text)
	case "error/xwhat/leakedbytes":
		return r.number(text, &r.record.Bytes)
	case "error/xwhat/leakedblocks":
		return r.number(text, &r.record.Blocks)
	default:
		return r.frameElement(at, text)
	}
	return nil
}

// amounts matches the sum of a definite loss: "1,056 (56 direct, 1,000 indirect) bytes in 1 blocks
// are definitely lost in loss record 3 of 3". The element leakedbytes has 1056.
var amounts = lazyregexp.New(`^[0-9,]+ \([0-9,]+ direct, ([0-9,]+) indirect\) bytes`)

func (r *memcheckReader) amounts(text string) error {
	m := amounts().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return r.number(strings.ReplaceAll(m[1], ",", ""), &r.record.IndirectBytes)
}

func (r *memcheckReader) number(text string, to *int64) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return r.fail(r.line(), strconv.Quote(text)+" is not a number of bytes or blocks")
	}
	*to = n
	return nil
}

// frameElement handles the end of a frame, or of an element of one.
func (r *memcheckReader) frameElement(at, text string) error {
	name, ok := strings.CutPrefix(at, "error/stack/frame")
	if !ok {
		return nil
	}
	switch name {
	case "":
		if r.frame.File != "" {
			r.frame.File = path.Join(r.dir, r.frame.File)
		}
		r.builder.frame(&r.record, r.frame)
	case "/ip":
		address, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
		if err != nil {
			return r.fail(r.line(), strconv.Quote(text)+" is not an address")
		}
		r.frame.Address = address
	case "/obj":
		r.frame.Module = text
	case "/fn":
		r.frame.Function = text
	case "/dir":
		r.dir = text
	case "/file":
		r.frame.File = text
	case "/line":
		line, err := strconv.ParseInt(text, 10, 32)
		if err != nil || line < 0 {
			return r.fail(r.line(), strconv.Quote(text)+" is not the number of a line")
		}
		r.frame.Line = int(line)
	}
	return nil
}

// tokenLimit fails when a token is too long, before the decoder keeps all of it in memory.
type tokenLimit struct {
	in   *bufio.Reader
	read int // bytes of the token
}

var errToken = errors.New("an element or a text is longer than 1 MiB")

// ReadByte implements [io.ByteReader], which the decoder uses instead of a buffer of its own.
func (l *tokenLimit) ReadByte() (byte, error) {
	if l.read++; l.read > maxToken {
		return 0, errToken
	}
	return l.in.ReadByte()
}

// Read implements [io.Reader].
func (l *tokenLimit) Read(p []byte) (int, error) { return l.in.Read(p) }
