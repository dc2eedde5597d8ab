//go:build linux

package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/internal/record"
)

// A program runs under the built-in engine. The directory has its snapshots and a manifest then.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plan, err := record.Prepare(record.Options{
		Command: []string{"sleep", "0.1"}, Dir: filepath.Join(dir, "heap"), Engine: "builtin", Adaptive: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := plan.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = os.Stat(filepath.Join(outcome.Dir, "heaplapse.manifest.jsonl"))
	fmt.Println("exit status", outcome.Status, "processes", outcome.Processes, "manifest", err == nil)
	// Output: exit status 0 processes 1 manifest true
}
