//go:build linux && amd64

package attach_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaplapse/heaplapse/internal/record/attach"
	"github.com/heaplapse/heaplapse/internal/record/channel"
)

// A process that runs is recorded for a moment, and is as before then.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	program := exec.Command("cat")
	in, err := program.StdinPipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := program.StdoutPipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := program.Start(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(in, "ready") // the program repeats it when its libraries are loaded
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := channel.Open(filepath.Join(dir, "p"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer receiver.Close()
	s, err := attach.Start(context.Background(), attach.Options{
		PID: program.Process.Pid, Adopt: receiver.Adopt,
		Settings: "period=4096 every=0 part=0 alloc=0 inuse=0 signal=0 children=0 python=0 mmap=0",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("snapshot:", s.Snapshot())
	summary, err := s.Stop()
	fmt.Println("functions that still call the engine:", summary.Left, err)
	receiver.Flush()
	names, _ := filepath.Glob(filepath.Join(dir, "*.heap"))
	fmt.Println("snapshots:", len(names) > 0)
	in.Close()
	fmt.Println("the program:", program.Wait())
	// Output:
	// snapshot: <nil>
	// functions that still call the engine: 0 <nil>
	// snapshots: true
	// the program: <nil>
}
