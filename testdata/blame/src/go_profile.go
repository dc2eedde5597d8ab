// LEAK: documents that stay in a map, read, parsed and joined by the standard library. The program writes its heap
// profile as text, like GET /debug/pprof/heap?debug=1.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

var (
	documents = map[string]any{}
	bodies    [][]byte
	lines     []string
)

//go:noinline
func parseDocument(n int) {
	var document any
	if err := json.Unmarshal([]byte(fmt.Sprintf(`{"id":%d,"tags":["a","b"],"text":%q}`, n, strings.Repeat("x", 200))), &document); err != nil {
		panic(err)
	}
	documents[fmt.Sprint("document ", n)] = document
}

//go:noinline
func readBody(n int) {
	body, err := io.ReadAll(bytes.NewReader(make([]byte, 600)))
	if err != nil {
		panic(err)
	}
	bodies = append(bodies, body)
}

//go:noinline
func joinLine(n int) {
	var line strings.Builder
	for range 8 {
		line.WriteString(" a word")
	}
	lines = append(lines, line.String())
}

func main() {
	runtime.MemProfileRate = 1 << 12
	for n := range 3000 {
		parseDocument(n)
		readBody(n)
		joinLine(n)
	}
	runtime.GC()
	if err := pprof.Lookup("heap").WriteTo(os.Stdout, 1); err != nil {
		panic(err)
	}
	runtime.KeepAlive(documents)
}
