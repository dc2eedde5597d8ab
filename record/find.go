//go:build linux

package record

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// search is what is looked for, and where.
type search struct {
	names    []string // of the library, best first
	symbol   string   // that it must define
	decoys   []string // libraries that are mistaken for it
	packages map[string]string
}

// findLibrary looks in the usual places of distributions, then asks the loader's cache. why says what was found instead.
func (s *search) findLibrary(machine elf.Machine, env []string) (path, why string) {
	for _, candidate := range s.candidates(machine, env) {
		err := s.usable(candidate, machine)
		switch {
		case err == nil:
			return candidate, ""
		case why == "" && !errors.Is(err, os.ErrNotExist):
			why = err.Error()
		}
	}
	return "", why
}

func (s *search) candidates(machine elf.Machine, env []string) []string {
	var out []string
	for _, names := range [][]string{s.names, s.decoys} {
		for _, dir := range libraryDirs(machine, env) {
			for _, name := range names {
				out = append(out, filepath.Join(dir, name))
			}
		}
		out = append(out, loaderCache(names)...)
	}
	return out
}

// triplets are the folders of Debian's multiarch.
var triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// libraryDirs are where Debian and Ubuntu (multiarch), Fedora (lib64), Arch and Alpine (lib), Nix and conda keep libraries.
func libraryDirs(machine elf.Machine, env []string) []string {
	var dirs []string
	if conda := getenv(env, "CONDA_PREFIX"); conda != "" {
		dirs = append(dirs, filepath.Join(conda, "lib"))
	}
	dirs = append(dirs, "/usr/local/lib64", "/usr/local/lib")
	if triplet := triplets[machine]; triplet != "" {
		dirs = append(dirs, "/usr/local/lib/"+triplet, "/usr/lib/"+triplet, "/lib/"+triplet)
	}
	dirs = append(dirs, "/usr/lib64", "/lib64", "/usr/lib", "/lib")
	if home := getenv(env, "HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".nix-profile/lib"), filepath.Join(home, ".local/state/nix/profile/lib"))
	}
	return append(dirs, "/run/current-system/sw/lib", "/nix/var/nix/profiles/default/lib", "/opt/conda/lib", "/home/linuxbrew/.linuxbrew/lib")
}

// loaderCache asks ldconfig, whose lines are `libjemalloc.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libjemalloc.so.2`.
func loaderCache(names []string) []string {
	tool, err := exec.LookPath("ldconfig")
	if err != nil {
		tool = "/sbin/ldconfig"
	}
	out, err := exec.Command(tool, "-p").Output()
	if err != nil {
		return nil // musl has none
	}
	var paths []string
	for line := range bytes.Lines(out) {
		name, path, ok := strings.Cut(string(line), " => ")
		if words := strings.Fields(name); ok && len(words) > 0 && slices.Contains(names, words[0]) {
			paths = append(paths, strings.TrimSpace(path))
		}
	}
	return paths
}

// usable checks that a library is for the machine, is the right one, and can be named in LD_PRELOAD.
func (s *search) usable(path string, machine elf.Machine) error {
	f, err := elf.Open(path)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format):
		return fmt.Errorf("%s is not a shared library: %w", path, err)
	case err != nil:
		return err
	}
	defer f.Close()
	if f.Machine != machine {
		return fmt.Errorf("%s is for %s, the program for %s", path, machineName(f.Machine), machineName(machine))
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !slices.ContainsFunc(symbols, func(sym elf.Symbol) bool { return sym.Name == s.symbol && sym.Section != elf.SHN_UNDEF }) {
		return fmt.Errorf("%s has no heap profiler (%s is missing)", path, s.symbol)
	}
	if strings.ContainsAny(path, " :") {
		return fmt.Errorf("%s: LD_PRELOAD cannot name a file with a space or a colon in its path: make a link to it elsewhere", path)
	}
	return nil
}

func machineName(m elf.Machine) string { return strings.ToLower(strings.TrimPrefix(m.String(), "EM_")) }

// install is the command that brings the library on this system.
func (s *search) install() string {
	id, like := osRelease("/etc/os-release")
	for _, distro := range append([]string{id}, strings.Fields(like)...) {
		if command, ok := s.packages[distro]; ok {
			return command
		}
	}
	return s.packages["debian"] + " (Debian, Ubuntu), or your system's package of that library"
}

// osRelease reads ID and ID_LIKE (os-release(5)).
func osRelease(path string) (id, like string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), "=")
		switch value = strings.Trim(value, `"'`); name {
		case "ID":
			id = value
		case "ID_LIKE":
			like = value
		}
	}
	return id, like
}

// versionIn finds a library's version in its bytes.
func versionIn(path string, pattern *regexp.Regexp) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 16<<20))
	if err != nil {
		return ""
	}
	m := pattern.FindSubmatch(data)
	if m == nil {
		return ""
	}
	return string(m[1])
}
