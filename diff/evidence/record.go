package evidence

import (
	"fmt"
	"path"

	"github.com/heaplapse/heaplapse/symbolize"
)

// Kind is how memory was lost.
type Kind uint8

// Kinds, the surest loss first.
const (
	// Definite: nothing refers to the memory. LeakSanitizer calls it a direct leak.
	Definite Kind = iota
	// Indirect: only lost memory refers to it, for example in a cycle.
	Indirect
	// Possible: only pointers into its middle refer to it.
	Possible
	// Reachable: a pointer leads to it, so that it is not lost.
	Reachable
)

var kindNames = [...]string{"definite", "indirect", "possible", "reachable"}

// String returns the stable name used in JSON.
func (k Kind) String() string { return kindNames[k] }

// Lost reports whether the program can no longer free the memory.
func (k Kind) Lost() bool { return k == Definite || k == Indirect }

// Tools that write reports.
const (
	Memcheck      = "memcheck"
	LeakSanitizer = "LeakSanitizer"
)

// Report is a file.
type Report struct {
	Path string
	// Tool is Memcheck or LeakSanitizer; "" if the file has no report.
	Tool string
	// Program is the path of the program, "" if it is unknown.
	Program string
	Records []Record
	// HasIndirect reports whether there are records of indirect losses. Memcheck leaves them out by
	// default.
	HasIndirect bool
}

// Lost returns the number of bytes that were lost, including those of indirect losses without a
// record.
func (r *Report) Lost() int64 {
	loss, indirect := Loss{}, int64(0)
	for i := range r.Records {
		loss.Add(&r.Records[i])
		indirect += r.Records[i].IndirectBytes
	}
	if r.HasIndirect {
		return loss.Bytes()
	}
	return loss.Bytes() + indirect
}

// Record is a stack, and the memory allocated there that was not freed.
type Record struct {
	// Report is where the record was read, Line its first line, from 1.
	Report *Report
	Line   int
	Kind   Kind
	// Bytes in Blocks are those of the stack itself.
	Bytes, Blocks int64
	// IndirectBytes are of other stacks, and lost because only this memory referred to them; 0 if
	// unknown. They have records of their own if the report has those of indirect losses.
	IndirectBytes int64
	// Frames are leaf first; an inlined callee precedes its caller.
	Frames []ReportFrame
	// Blame is the index in Frames of the function that the memory is attributed to, -1 for none.
	// NewIndex sets it.
	Blame int
}

// ReportFrame is a frame as a report has it. Its function has no parameters, but may lack its
// namespaces if it is inlined.
type ReportFrame struct {
	symbolize.Frame
	// Address is that of the call in the process.
	Address uint64
	// BuildID is that of the module, and Offset the ELF virtual address. Only frames without a
	// function have an offset.
	BuildID string
	Offset  uint64
}

// Stack returns the frames as those of a summarized run.
func (r *Record) Stack() []symbolize.Frame {
	out := make([]symbolize.Frame, len(r.Frames))
	for i, f := range r.Frames {
		out[i] = f.Frame
		if f.Function == "" && f.Offset > 0 {
			out[i].Function = fmt.Sprintf("%s+0x%x", baseName(f.Module), f.Offset)
		}
	}
	return out
}

// function returns the frame that the memory is attributed to, nil for none.
func (r *Record) function() *ReportFrame {
	if r.Blame < 0 || r.Frames[r.Blame].Function == "" {
		return nil
	}
	return &r.Frames[r.Blame]
}

// baseName is the name of a file without its directory, "" for none.
func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}
