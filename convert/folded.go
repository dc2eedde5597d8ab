package convert

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/printable"
	"github.com/heaplapse/heaplapse/symbolize"
)

// SampleType is one of the four values of a sample.
type SampleType string

// The sample types, named as in pprof.
const (
	InuseSpace   SampleType = "inuse_space"
	InuseObjects SampleType = "inuse_objects"
	AllocSpace   SampleType = "alloc_space"
	AllocObjects SampleType = "alloc_objects"
)

// goroutine is the only sample type of a goroutine profile.
const goroutine SampleType = "goroutine"

// SampleTypes lists all sample types, the default first.
var SampleTypes = []SampleType{InuseSpace, InuseObjects, AllocSpace, AllocObjects}

// NeedsAlloc reports whether the type requires cumulative counts.
func (t SampleType) NeedsAlloc() bool { return t == AllocSpace || t == AllocObjects }

// NeedsObjects reports whether the type requires numbers of objects.
func (t SampleType) NeedsObjects() bool { return t == InuseObjects || t == AllocObjects }

// Of returns the value of type t: bytes or a number of objects.
func (t SampleType) Of(c heapfile.Counts) int64 {
	switch t {
	case InuseObjects, goroutine:
		return c.InuseObjects
	case AllocSpace:
		return c.AllocBytes
	case AllocObjects:
		return c.AllocObjects
	}
	return c.InuseBytes
}

// rendered is a function that writes a profile. It implements io.WriterTo.
type rendered func(io.Writer) error

// WriteTo calls r with a buffered writer. The number of bytes is not counted: WriteTo returns 0.
func (r rendered) WriteTo(w io.Writer) (int64, error) {
	b := bufio.NewWriter(w)
	if err := r(b); err != nil {
		return 0, err
	}
	return 0, b.Flush()
}

// Folded returns folded stacks in the format of github.com/brendangregg/FlameGraph: one line per
// stack, with the functions from root to leaf separated by semicolons, a space, and the value of
// type t. Functions of scripts have their file and line. Stacks whose value is 0 are omitted.
func (c *Converter) Folded(s *Samples, t SampleType) io.WriterTo {
	s.prune(c.o.MaxSamples)
	trim := newTrimmer(c)
	return rendered(func(w io.Writer) error {
		for _, r := range s.rows {
			v := t.Of(r.Counts)
			if v == 0 {
				continue
			}
			stack := trim.trim(c.symbols.Stack(r.stack))
			if _, err := fmt.Fprintf(w, "%s %d\n", c.foldedStack(stack), v); err != nil {
				return err
			}
		}
		if v := t.Of(s.other); v != 0 {
			_, err := fmt.Fprintf(w, "%s %d\n", foldedName, v)
			return err
		}
		return nil
	})
}

// foldedStack joins the functions of a stack, root first.
func (c *Converter) foldedStack(stack []symbolize.LocationID) string {
	var names []string
	for i := len(stack) - 1; i >= 0; i-- {
		l := &c.symbols.Locations[stack[i]]
		if !l.Named() {
			names = append(names, foldedSafe(c.symbols.Label(l)))
		}
		for k := len(l.Frames) - 1; k >= 0; k-- {
			names = append(names, foldedSafe(foldedFrame(l, &l.Frames[k])))
		}
	}
	if len(names) == 0 {
		return "(no stack)"
	}
	return strings.Join(names, ";")
}

// foldedFrame returns the name of a function. That of a script has its line, as py-spy writes it: a
// line of Python allocates, where the native function below it is the same for all of them.
func foldedFrame(l *symbolize.Location, f *symbolize.Frame) string {
	if !l.Script() {
		return f.Function
	}
	return fmt.Sprintf("%s (%s:%d)", f.Function, symbolize.FileName(f.File), f.Line)
}

// foldedSafe replaces the character that separates functions, and those that may not be printed,
// such as line breaks.
func foldedSafe(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case !printable.Rune(r):
			return ' '
		}
		return r
	}, utf8(name))
}

type jsonProfile struct {
	Schema      string         `json:"schema"`
	Snapshot    string         `json:"snapshot"`
	Time        *string        `json:"time"`
	Period      int64          `json:"period"`
	SampleTypes []SampleType   `json:"sample_types"`
	Comments    []string       `json:"comments"`
	Locations   []jsonLocation `json:"locations"`
	Samples     []jsonSample   `json:"samples"`
}

type jsonLocation struct {
	Address string      `json:"address"`
	Module  string      `json:"module"`
	Offset  string      `json:"offset"`
	Frames  []jsonFrame `json:"frames"`
}

type jsonFrame struct {
	Function string `json:"function"`
	Linkage  string `json:"linkage"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Inlined  bool   `json:"inlined"`
}

type jsonSample struct {
	Values    []int64 `json:"values"`
	Locations []int   `json:"locations"`
}

// JSON returns the samples in the format heaplapse.convert/1. A stack is a list of indices into the
// list of locations, leaf first.
func (c *Converter) JSON(s *Samples) io.WriterTo {
	s.prune(c.o.MaxSamples)
	out := jsonProfile{
		Schema: "heaplapse.convert/1", Snapshot: s.Head.Path, Period: s.Head.Period,
		SampleTypes: c.types, Comments: append(c.comments(s.Head), s.notes...),
		Locations: []jsonLocation{}, Samples: []jsonSample{},
	}
	if c.series.Clock.Source.IsTime() {
		t := c.series.Clock.Times[s.Head.Index].UTC().Format("2006-01-02T15:04:05.999999999Z")
		out.Time = &t
	}
	trim := newTrimmer(c)
	known := map[symbolize.LocationID]int{}
	for _, r := range s.rows {
		j := jsonSample{Values: c.values(r.Counts), Locations: []int{}}
		for _, id := range trim.trim(c.symbols.Stack(r.stack)) {
			i, ok := known[id]
			if !ok {
				i = len(out.Locations)
				known[id] = i
				out.Locations = append(out.Locations, c.jsonLocation(id))
			}
			j.Locations = append(j.Locations, i)
		}
		out.Samples = append(out.Samples, j)
	}
	if s.folded > 0 {
		out.Samples = append(out.Samples, jsonSample{c.values(s.other), []int{len(out.Locations)}})
		out.Locations = append(out.Locations, jsonLocation{Frames: []jsonFrame{{Function: foldedName}}})
	}
	return rendered(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(out)
	})
}

func (c *Converter) jsonLocation(id symbolize.LocationID) jsonLocation {
	l := &c.symbols.Locations[id]
	out := jsonLocation{Frames: []jsonFrame{}}
	if m := c.symbols.Module(l); m != nil {
		out.Module = m.Path
	}
	if !l.MadeUp() {
		out.Address = "0x" + strconv.FormatUint(uint64(l.Address), 16)
		if out.Module != "" {
			out.Offset = "0x" + strconv.FormatUint(l.Offset, 16)
		}
	}
	for _, f := range l.Frames {
		out.Frames = append(out.Frames, jsonFrame{f.Function, f.Linkage, f.File, f.Line, f.Column, f.Inlined})
	}
	return out
}

// sampleTypes returns the sample types that all snapshots have, in pprof's order.
func sampleTypes(heads []*series.Head) []SampleType {
	types := []SampleType{AllocObjects, AllocSpace, InuseObjects, InuseSpace}
	for _, h := range heads {
		if h.Format == heapfile.FormatGoroutines {
			return []SampleType{goroutine}
		}
		types = slices.DeleteFunc(types, func(t SampleType) bool {
			return (t.NeedsAlloc() && !h.HasAlloc) || (t.NeedsObjects() && h.NoObjects)
		})
	}
	return types
}

func (c *Converter) values(x heapfile.Counts) []int64 {
	var out []int64
	for _, t := range c.types {
		out = append(out, t.Of(x))
	}
	return out
}
