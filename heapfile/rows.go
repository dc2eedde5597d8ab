package heapfile

import (
	"bytes"
	"strconv"
)

// rowReader decodes the rows of one dialect. A new dialect is a new
// implementation, chosen once by newRowReader.
type rowReader interface {
	// row decodes a line that is neither blank nor the mappings' sentinel.
	row(d *Decoder, line []byte)
	// truncatedLine takes the last line of a truncated file, which may end anywhere.
	truncatedLine(d *Decoder, line []byte)
}

func newRowReader(f Format) rowReader {
	if f == FormatJemalloc {
		return &jemallocRows{}
	}
	return &bucketRows{}
}

// bucketRows reads gperftools' rows:
//
//	3:    12288 [     4:    16384] @ 0x55d0c0a4f1a9 0x55d0c0a4f2b0
type bucketRows struct{}

func (*bucketRows) row(d *Decoder, line []byte) {
	counts, stack, ok := parseCounts(line)
	if !ok {
		d.badRow(line)
		return
	}
	id, ok := d.stack(stack)
	if !ok {
		d.badRow(line)
		return
	}
	d.add(Sample{Stack: id, Counts: counts})
}

// truncatedLine keeps the counts, if the line has them, and drops the last address, which may lack
// digits. The next address is missing in any case, so the stack is truncated.
func (*bucketRows) truncatedLine(d *Decoder, line []byte) {
	counts, stack, ok := parseCounts(line)
	if !ok {
		return
	}
	if last := bytes.LastIndexByte(stack, ' '); last >= 0 {
		stack = stack[:last]
	} else {
		stack = nil
	}
	if id, ok := d.stack(stack); ok {
		d.add(Sample{Stack: id, Truncated: true, Counts: counts})
	}
}

// jemallocRows reads jemalloc's rows, whose addresses precede their counts:
//
//	@ 0x7f3c7d3b2c1e 0x7f3c7d3a0b2f
//	  t*: 3: 12288 [0: 0]
//	  t0: 1: 4096 [0: 0] main
//	  t3: 2: 8192 [0: 0]
//
// The t* line is the sum of the others, so only the t* line counts.
type jemallocRows struct {
	stack    StackID
	pending  bool // a stack waits for its t* line
	anyStack bool // the lines of the header have ended
}

func (j *jemallocRows) row(d *Decoder, line []byte) {
	if line[0] == '@' {
		j.stackLine(d, line)
		return
	}
	rest, ok := bytes.CutPrefix(skipSpaces(line), []byte("t"))
	if !ok {
		d.badRow(line)
		return
	}
	if total, ok := bytes.CutPrefix(rest, []byte("*:")); ok {
		j.totalLine(d, line, total)
		return
	}
	thread, ok := parseThread(rest)
	if !ok {
		d.badRow(line)
		return
	}
	if !j.anyStack && len(d.snap.Threads) < maxThreads {
		d.snap.Threads = append(d.snap.Threads, thread.withName())
	}
}

func (j *jemallocRows) stackLine(d *Decoder, line []byte) {
	if j.pending {
		d.warn.add(WarnMalformedRow, d.at, "skipped a stack without a t* line")
	}
	j.anyStack = true
	j.stack, j.pending = d.stack(line[1:])
	if !j.pending {
		d.badRow(line)
	}
}

func (j *jemallocRows) totalLine(d *Decoder, line, rest []byte) {
	counts, tail, ok := parseBracket(rest)
	switch {
	case !ok || len(skipSpaces(tail)) > 0:
		d.badRow(line)
		j.pending = false
	case j.pending:
		d.add(Sample{Stack: j.stack, Counts: counts})
		j.pending = false
	case !j.anyStack && !d.snap.HasTotal:
		d.snap.Total, d.snap.HasTotal = counts, true
	default:
		d.badRow(line)
	}
}

// truncatedLine keeps nothing: a truncated stack has no counts yet, and truncated counts may lack
// digits.
func (*jemallocRows) truncatedLine(*Decoder, []byte) {}

// threadLine is the line of a thread. The name is in the decoder's buffer.
type threadLine struct {
	id     uint64
	counts Counts
	name   []byte
}

func (t threadLine) withName() Thread {
	return Thread{ID: t.id, Name: string(t.name), Counts: t.counts}
}

// parseThread decodes what follows the t of `t3: 2: 8192 [0: 0] worker`.
func parseThread(b []byte) (threadLine, bool) {
	id, rest, found := bytes.Cut(b, []byte(":"))
	if !found || len(id) == 0 || len(id) > 20 {
		return threadLine{}, false
	}
	uid, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return threadLine{}, false
	}
	counts, rest, ok := parseBracket(rest)
	if !ok {
		return threadLine{}, false
	}
	return threadLine{id: uid, counts: counts, name: bytes.TrimSpace(rest)}, true
}
