//go:build ignore

// Excerpt copies the header of a jitdump, and the functions whose names match, with their lines.
// Their code is replaced by zeros. The output is compressed with gzip. Usage: go run excerpt.go IN
// OUT REGEXP
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"log"
	"os"
	"regexp"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(excerpt(data, regexp.MustCompile(os.Args[3]))); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], out.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

func excerpt(data []byte, names *regexp.Regexp) []byte {
	size := binary.LittleEndian.Uint32(data[8:])
	out, rest := bytes.Clone(data[:size]), data[size:]
	var lines []byte // the lines of the function that follows
	for len(rest) >= 16 {
		kind, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		record := rest[:size]
		rest = rest[size:]
		switch kind {
		case 2:
			lines = record
		case 0:
			if name, _, _ := bytes.Cut(record[16+40:], []byte{0}); names.Match(name) {
				clear(record[16+40+len(name)+1:])
				out = append(append(out, lines...), record...)
			}
			lines = nil
		}
	}
	return out
}
