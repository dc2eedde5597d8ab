// Command self prints addresses of its own code with the function, file and line that Go's runtime
// reports: the starts of functions ("entry"), and return addresses ("frame", innermost first,
// including inlined calls).
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
)

type counter struct{ n int }

func (c *counter) add(n int) { c.n += n }

func generic[T any](v T) string { return fmt.Sprint(v) }

func main() {
	fmt.Printf("origin %x runtime.GC - 0\n", reflect.ValueOf(runtime.GC).Pointer())
	closure := func() { fmt.Println(os.Args) }
	for _, fn := range []any{main, outer, strings.Cut, sort.Strings, fmt.Sprintf, os.Open, (*counter).add, closure} {
		entry(reflect.ValueOf(fn).Pointer())
	}
	outer(func(pc uintptr) {
		frames := runtime.CallersFrames([]uintptr{pc})
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			fmt.Printf("frame %x %s %s %d\n", pc, f.Function, f.File, f.Line)
		}
	})
	_ = generic(1)
}

func entry(pc uintptr) {
	f := runtime.FuncForPC(pc)
	file, line := f.FileLine(pc)
	fmt.Printf("entry %x %s %s %d\n", pc, f.Name(), file, line)
}

// outer, middle and inner are inlined into main; here is not.
func outer(visit func(uintptr))  { middle(visit) }
func middle(visit func(uintptr)) { inner(visit) }
func inner(visit func(uintptr))  { here(visit) }

//go:noinline
func here(visit func(uintptr)) {
	pcs := make([]uintptr, 16)
	for _, pc := range pcs[:runtime.Callers(1, pcs)] {
		visit(pc)
	}
}
