package listing

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Addresses is the result of symbolize -e.
type Addresses struct {
	File  string
	Lines []AddressLine
}

// AddressLine is one line of input: an address, or other text, which is written back unchanged.
type AddressLine struct {
	Text     string
	Location *symbolize.Location // nil if the line is not an address
}

// textBuffer is the size of one write, in bytes. 100,000 addresses of a large program make 150 MB.
const textBuffer = 64 << 10

// Text writes what llvm-symbolizer prints: for each address the function and the position of each
// frame, innermost first, and a blank line.
func (a *Addresses) Text(w io.Writer) error {
	var buf []byte
	for i := range a.Lines {
		if buf = a.Lines[i].appendText(buf); len(buf) < textBuffer {
			continue
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	_, err := w.Write(buf)
	return err
}

// appendText appends the frames of a line. It does not use fmt, which would take a quarter of the
// command's time.
func (l *AddressLine) appendText(buf []byte) []byte {
	if l.Location == nil {
		return append(append(buf, l.Text...), '\n')
	}
	for i := range l.Location.Frames {
		f := &l.Location.Frames[i]
		buf = append(append(buf, cmp.Or(f.Function, "??")...), '\n')
		buf = append(append(buf, cmp.Or(f.File, "??")...), ':')
		buf = append(strconv.AppendInt(buf, int64(f.Line), 10), ':')
		buf = append(strconv.AppendInt(buf, int64(f.Column), 10), '\n')
	}
	if !l.Location.Named() {
		buf = append(buf, "??\n??:0:0\n"...)
	}
	return append(buf, '\n')
}

type addressJSON struct {
	Address string      `json:"address"`
	Source  string      `json:"source"`
	Reason  string      `json:"reason,omitempty"`
	Near    string      `json:"near,omitempty"`
	Frames  []frameJSON `json:"frames"`
}

type frameJSON struct {
	Function  string `json:"function"`
	Linkage   string `json:"linkage,omitempty"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	StartLine int    `json:"start_line"`
	Inlined   bool   `json:"inlined"`
}

// JSON writes the frames as heaplapse.symbolize/1. It leaves out lines that are not addresses.
func (a *Addresses) JSON(w io.Writer) error {
	list := []addressJSON{}
	for _, l := range a.Lines {
		if l.Location == nil {
			continue
		}
		j := addressJSON{
			Address: fmt.Sprintf("0x%x", l.Location.Offset), Source: l.Location.Source.String(),
			Reason: l.Location.Reason.String(), Near: siteview.Near(l.Location), Frames: []frameJSON{},
		}
		for _, f := range l.Location.Frames {
			j.Frames = append(j.Frames,
				frameJSON{f.Function, f.Linkage, f.File, f.Line, f.Column, f.StartLine, f.Inlined})
		}
		list = append(list, j)
	}
	return text.WriteJSON(w, struct {
		Schema    string        `json:"schema"`
		File      string        `json:"file"`
		Addresses []addressJSON `json:"addresses"`
	}{"heaplapse.symbolize/1", a.File, list})
}
