package jit

import (
	"bufio"
	"strconv"
	"strings"
)

// readPerfMap reads a perf map: a line `START SIZE name` for each function, with bare hexadecimal
// numbers (linux, tools/perf/Documentation/jit-interface.txt). It ignores malformed lines and lines
// that are longer than the reader's buffer.
func readPerfMap(in *bufio.Reader) (*Map, error) {
	m := &Map{}
	err := eachLine(in, func(line []byte) error {
		if e, ok := parseLine(string(line)); ok {
			m.add(e)
		}
		return m.checkLimits()
	})
	if err != nil {
		return nil, err
	}
	m.finish()
	return m, nil
}

// parseLine parses a line such as "3ef414c0 398 LazyCompile:*leakBuffers leak.js:2:21".
func parseLine(line string) (entry, bool) {
	line = strings.TrimRight(line, "\r\n")
	start, rest, ok := strings.Cut(line, " ")
	size, name, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || name == "" {
		return entry{}, false
	}
	a, err := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	return entry{start: a, size: n, name: name}, err == nil && err2 == nil
}
