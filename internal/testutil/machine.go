package testutil

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Machine returns the processor of this machine, or EM_NONE if heaplapse has no objects for it.
func Machine() elf.Machine {
	switch runtime.GOARCH {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	}
	return elf.EM_NONE
}

// SameBuild runs a script that builds files in the directory of its argument, and compares them
// with the committed ones. Another compiler builds other bytes, so the test is skipped unless
// clang's version is in one of them. remedy is the command that builds them again.
func SameBuild(t *testing.T, script string, committed map[string][]byte, remedy string) {
	t.Helper()
	clang := Need(t, "clang")
	Need(t, "ld.lld")
	version, err := exec.Command(clang, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(version), "\n")
	same := false
	for _, want := range committed {
		same = same || bytes.Contains(want, []byte(strings.TrimSpace(line)))
	}
	if !same {
		t.Skipf("another compiler than %s built the committed files", line)
	}
	dir := t.TempDir()
	if out, err := exec.Command(script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range committed {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s was not built from its source: run %s", name, remedy)
		}
	}
}
