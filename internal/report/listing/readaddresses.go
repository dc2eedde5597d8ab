package listing

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// maxAddressLine is the number of bytes that llvm-symbolizer reads of a line at once. A longer line
// counts as several.
const maxAddressLine = 1023

// ReadAddresses reads addresses, one a line. lines[asked[i]] is the address addrs[i], the other
// lines have a text.
func ReadAddresses(r io.Reader) (lines []AddressLine, asked []int, addrs []uint64, err error) {
	in := bufio.NewReaderSize(r, maxAddressLine)
	for err == nil {
		var raw []byte
		raw, err = in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(raw) == 0 {
			break
		}
		line := lineEnds.Replace(string(raw))
		if v, ok := parseAddress(line); ok {
			asked, addrs = append(asked, len(lines)), append(addrs, v)
			line = ""
		}
		lines = append(lines, AddressLine{Text: line})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return lines, asked, addrs, err
}

// lineEnds removes the ends of lines, also those of DOS.
var lineEnds = strings.NewReplacer("\r", "", "\n", "")

// parseAddress reads `0x401136`, `401136` or `CODE 0x401136 text`. All are hexadecimal, as nm
// prints them; llvm-symbolizer reads 401136 as a decimal number and 0401136 as an octal one.
func parseAddress(line string) (uint64, bool) {
	line = strings.TrimPrefix(line, "CODE ")
	word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	digits := word
	if len(word) > 2 && (word[:2] == "0x" || word[:2] == "0X") {
		digits = word[2:]
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}
