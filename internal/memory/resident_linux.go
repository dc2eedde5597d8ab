package memory

import (
	"os"
	"strconv"
	"strings"
)

// resident returns the memory of the process that no file has, in bytes: the resident pages without
// the shared ones, fields 2 and 3 of /proc/self/statm.
func resident() (bytes int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return 0, false
	}
	all, err1 := strconv.ParseInt(fields[1], 10, 64)
	shared, err2 := strconv.ParseInt(fields[2], 10, 64)
	return (all - shared) * int64(os.Getpagesize()), err1 == nil && err2 == nil
}
