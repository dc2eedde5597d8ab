//go:build linux

package program

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
	"strconv"
	"strings"
)

// Search is what is looked for, and where.
type Search struct {
	Names    []string // of the library, best first
	Symbol   string   // that it must define
	Decoys   []string // libraries that are mistaken for it
	Packages map[string]string
}

// System is the one whose libraries are looked for; root is "" but in tests.
type System struct{ Root string }

func (s System) At(path string) string {
	if s.Root == "" {
		return path
	}
	return filepath.Join(s.Root, path)
}

// FindLibrary looks in the usual places of distributions, then asks the loader's cache. why says what was found instead.
func (s *Search) FindLibrary(sys System, want ABI, env []string) (path, why string) {
	for _, candidate := range s.candidates(sys, want.Machine, env) {
		err := s.Usable(sys.At(candidate), want)
		switch {
		case err == nil:
			return candidate, ""
		case why == "" && !errors.Is(err, os.ErrNotExist):
			why = err.Error()
		}
	}
	return "", why
}

func (s *Search) candidates(sys System, machine elf.Machine, env []string) []string {
	var out []string
	for _, names := range [][]string{s.Names, s.Decoys} {
		for _, dir := range libraryDirs(machine, env) {
			for _, name := range names {
				out = append(out, filepath.Join(dir, name))
			}
		}
		out = append(out, sys.loaderCache(names)...)
		out = append(out, sys.nixStore(names)...)
	}
	return out
}

// Triplets are the folders of Debian's multiarch.
var Triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// libraryDirs are where libraries are: first those of the environment that is active (LD_LIBRARY_PATH, conda), then where Debian and Ubuntu
// (multiarch), Fedora and openSUSE (lib64), Arch and Alpine (lib) keep them, then the profiles of Nix, and others.
func libraryDirs(machine elf.Machine, env []string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(Getenv(env, "LD_LIBRARY_PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if conda := Getenv(env, "CONDA_PREFIX"); conda != "" {
		dirs = append(dirs, filepath.Join(conda, "lib"))
	}
	dirs = append(dirs, "/usr/local/lib64", "/usr/local/lib")
	if triplet := Triplets[machine]; triplet != "" {
		dirs = append(dirs, "/usr/local/lib/"+triplet, "/usr/lib/"+triplet, "/lib/"+triplet)
	}
	dirs = append(dirs, "/usr/lib64", "/lib64", "/usr/lib", "/lib")
	if home := Getenv(env, "HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".nix-profile/lib"), filepath.Join(home, ".local/state/nix/profile/lib"))
	}
	return append(dirs, "/run/current-system/sw/lib", "/nix/var/nix/profiles/default/lib", "/opt/conda/lib", "/home/linuxbrew/.linuxbrew/lib")
}

// loaderCache asks ldconfig, whose lines are `libjemalloc.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libjemalloc.so.2`.
func (s System) loaderCache(names []string) []string {
	tool, err := exec.LookPath("ldconfig")
	if err != nil || s.Root != "" {
		tool = s.At("/sbin/ldconfig")
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

// nixStore is where packages are that only a shell of Nix has put into its environment: /nix/store/HASH-gperftools-2.15/lib.
func (s System) nixStore(names []string) []string {
	var paths []string
	for _, name := range names {
		found, _ := filepath.Glob(s.At("/nix/store/*/lib/" + name))
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(path, s.Root))
		}
	}
	return paths
}

// Usable checks that a library is for the machine and the C library of the program, is the right one, and can be named in LD_PRELOAD.
func (s *Search) Usable(path string, want ABI) error {
	f, err := elf.Open(path)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format):
		return fmt.Errorf("%s is not a shared library: %w", path, err)
	case err != nil:
		return err
	}
	defer f.Close()
	if f.Machine != want.Machine {
		return fmt.Errorf("%s is for %s, the program for %s", path, machineName(f.Machine), machineName(want.Machine))
	}
	if libc := libcOf(f); libc != "" && want.Libc != "" && libc != want.Libc {
		return fmt.Errorf("%s is for %s, the program for %s: it takes a library that is built for that, as Alpine's are for musl", path, libc, want.Libc)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !slices.ContainsFunc(symbols, func(sym elf.Symbol) bool { return sym.Name == s.Symbol && sym.Section != elf.SHN_UNDEF }) {
		return fmt.Errorf("%s has no heap profiler (%s is missing)", path, s.Symbol)
	}
	if strings.ContainsAny(path, " :") {
		return fmt.Errorf("%s: LD_PRELOAD cannot name a file with a space or a colon in its path: make a link to it elsewhere", path)
	}
	return nil
}

func machineName(m elf.Machine) string { return strings.ToLower(strings.TrimPrefix(m.String(), "EM_")) }

// Install is the command that brings the library on this system.
func (s *Search) Install(sys System, env []string) string {
	r := sys.Release()
	command := s.Packages["debian"] + " (Debian, Ubuntu), or your system's package of that library"
	for _, distro := range append(r.versions(), append([]string{r.Id}, r.like...)...) {
		if known, ok := s.Packages[distro]; ok {
			command = known
			break
		}
	}
	if conda := s.Packages["conda"]; Getenv(env, "CONDA_PREFIX") != "" {
		command += ", or in this environment: " + conda
	}
	return command
}

// release is what os-release(5) says of a system: ID, VERSION_ID and ID_LIKE.
type release struct {
	Id, version string
	like        []string
}

// timeT64 are the first releases of the family of Debian whose packages were renamed for 64-bit times.
var timeT64 = map[string]float64{"debian": 13, "ubuntu": 24.04}

// versions are keys of packages that go before those of the whole distribution.
func (r release) versions() []string {
	first, ok := timeT64[r.Id]
	version, err := strconv.ParseFloat(r.version, 64)
	if !ok || (err == nil && version < first) || (err != nil && r.version != "") { // Debian's testing has no version
		return nil
	}
	return []string{"debian-t64"}
}

func (s System) Release() (r release) {
	f, err := os.Open(s.At("/etc/os-release"))
	if err != nil {
		f, err = os.Open(s.At("/usr/lib/os-release"))
	}
	if err != nil {
		return r
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), "=")
		switch value = strings.Trim(value, `"'`); name {
		case "ID":
			r.Id = value
		case "ID_LIKE":
			r.like = strings.Fields(value)
		case "VERSION_ID":
			r.version = value
		}
	}
	return r
}

// VersionIn finds a library's version in its bytes.
func VersionIn(path string, pattern *regexp.Regexp) string {
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
