package heapfile

import (
	"fmt"

	"github.com/heaplapse/heaplapse/heapfile/internal/kinds"
)

// refuseBytes returns an error that names what a file is, if its first bytes cannot start a
// snapshot.
func refuseBytes(path string, head []byte) error {
	if k, ok := kinds.OfBytes(head); ok {
		return &FormatError{File: path, Kind: k.Name, Hint: k.Hint}
	}
	return nil
}

// refuse returns an error that names what a text file is, given a first line that is not a header.
func refuse(path string, line []byte) error {
	if k, ok := kinds.OfLine(path, line); ok {
		return &FormatError{File: path, Kind: k.Name, Hint: k.Hint}
	}
	return &FormatError{File: path, Kind: fmt.Sprintf("its first line is %q", clip(line)),
		Hint: `a snapshot starts with "heap profile:" or "heap_v2/"`}
}
