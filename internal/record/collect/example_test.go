//go:build linux

package collect_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/collect"
)

const snapshot = `heap profile: 1: 4096 [1: 4096] @ heapprofile
1: 4096 [1: 4096] @ 0x1

MAPPED_LIBRARIES:
a000-fff000 r-xp 0 00:00 1 /bin/prog
`

// A snapshot that appears while the program runs is in the manifest afterwards.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	out, err := manifest.Create(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	program := exec.Command("sleep", "0.2")
	if err := program.Start(); err != nil {
		fmt.Println(err)
		return
	}
	w, err := collect.Watch(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := collect.New(collect.Options{Prefix: filepath.Join(dir, "p"), Shown: dir, Root: program.Process.Pid}, out)
	go c.Run(w)
	name := fmt.Sprintf("p_%d.0001.heap", program.Process.Pid)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(snapshot), 0o600); err != nil { // as the engine does
		fmt.Println(err)
	}
	_ = program.Wait() // Finish tells how it ended
	c.Stop()
	result := c.Finish(collect.Exit{State: program.ProcessState, Time: time.Now()})
	m, err := manifest.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("snapshots:", result.Snapshots, "exit status:", result.Status)
	fmt.Println("in the manifest:", m.Snapshots[0].File == name)
	// Output:
	// snapshots: 1 exit status: 0
	// in the manifest: true
}
