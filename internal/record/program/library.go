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

	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
)

// Search describes the library to search for.
type Search struct {
	Names    []string          // base names of the library, best first
	Symbol   string            // a symbol that it must define
	Decoys   []string          // base names of similar libraries that do not work; found only to explain why
	Packages map[string]string // command that installs it, by ID of os-release(5)
}

// System is the file system that is searched. Root is a directory that replaces / in tests;
// otherwise it is "".
type System struct{ Root string }

// At returns the real path of an absolute path within the system.
func (s System) At(path string) string {
	if s.Root == "" {
		return path
	}
	return filepath.Join(s.Root, path)
}

// FindLibrary returns the path of the first usable library in the directories of the environment,
// those of the known distributions, the loader's cache and the Nix store. For root, a library that
// another user can replace is not usable. If there is none, FindLibrary returns "" and, if an
// unusable library was found, the reason why it is unusable.
func (s *Search) FindLibrary(sys System, want ABI, env []string) (path string, reason error) {
	for _, candidate := range s.candidates(sys, want.Machine, env) {
		err := s.Usable(sys.At(candidate), want)
		if err == nil && os.Geteuid() == 0 {
			err = trusted(sys.At(candidate))
		}
		switch {
		case err == nil:
			return candidate, nil
		case reason == nil && !errors.Is(err, os.ErrNotExist):
			reason = err
		}
	}
	return "", reason
}

// trusted returns an error if root should not load a library, because another user can replace it.
func trusted(path string) error {
	if err := preloadfile.Check(path); err != nil {
		return fmt.Errorf("%s is not used for root: %w", path, err)
	}
	return nil
}

// candidates returns the paths to try, in order.
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

// Triplets holds the names of Debian's multiarch directories.
var Triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// libraryDirs returns the directories to search. Those of the environment come first
// (LD_LIBRARY_PATH, conda), then those of Debian and Ubuntu (multiarch), Fedora and openSUSE
// (lib64), Arch and Alpine (lib), then the profiles of Nix and others.
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
	return append(dirs, "/run/current-system/sw/lib", "/nix/var/nix/profiles/default/lib", "/opt/conda/lib",
		"/home/linuxbrew/.linuxbrew/lib")
}

// loaderCache returns the libraries with the given names in the output of `ldconfig -p`. A line of
// it is `libjemalloc.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libjemalloc.so.2`.
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

// nixStore returns the libraries in the store of Nix, such as those in
// /nix/store/HASH-gperftools-2.15/lib. A shell of Nix may use packages that are in no profile.
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

// Usable returns an error if a library cannot be preloaded into a program: it is for another
// machine or C library, does not define the symbol, or has a path that LD_PRELOAD does not support.
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
		return fmt.Errorf("%s is for %s, but the program is for %s",
			path, machineName(f.Machine), machineName(want.Machine))
	}
	if libc := libcOf(f); libc != "" && want.Libc != "" && libc != want.Libc {
		return fmt.Errorf("%s is for %s, but the program is for %s: it needs a library built for %s",
			path, libc, want.Libc, want.Libc)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !defines(symbols, s.Symbol) {
		return fmt.Errorf("%s has no heap profiler (%s is missing)", path, s.Symbol)
	}
	if strings.ContainsAny(path, preloadfile.Separators) {
		return fmt.Errorf("%s: LD_PRELOAD does not support a space, a colon or a $ in a path: link the file from another path",
			path)
	}
	return nil
}

// defines reports whether one of the symbols has the name and is defined.
func defines(symbols []elf.Symbol, name string) bool {
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF })
}

func machineName(m elf.Machine) string { return strings.ToLower(strings.TrimPrefix(m.String(), "EM_")) }

// Install returns the command that installs the library on the system.
func (s *Search) Install(sys System, env []string) string {
	r := sys.Release()
	command := s.Packages["debian"] + " (Debian, Ubuntu), or your distribution's package"
	for _, distro := range append(r.versions(), append([]string{r.ID}, r.like...)...) {
		if known, ok := s.Packages[distro]; ok {
			command = known
			break
		}
	}
	if conda := s.Packages["conda"]; Getenv(env, "CONDA_PREFIX") != "" {
		command += ", or in this conda environment: " + conda
	}
	return command
}

// release holds the fields ID, VERSION_ID and ID_LIKE of os-release(5).
type release struct {
	ID, version string
	like        []string
}

// timeT64 holds the first releases of Debian and Ubuntu in which packages were renamed for the
// transition to 64-bit time_t.
var timeT64 = map[string]float64{"debian": 13, "ubuntu": 24.04}

// versions returns keys of Search.Packages for this version of the distribution, which take
// precedence over its ID.
func (r release) versions() []string {
	first, ok := timeT64[r.ID]
	version, err := strconv.ParseFloat(r.version, 64)
	if !ok || (err == nil && version < first) || (err != nil && r.version != "") { // Debian testing has no version
		return nil
	}
	return []string{"debian-t64"}
}

// Release returns the fields of the system's os-release(5).
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
			r.ID = value
		case "ID_LIKE":
			r.like = strings.Fields(value)
		case "VERSION_ID":
			r.version = value
		}
	}
	return r
}

// VersionIn returns the first group of the first match of a pattern in the contents of a library,
// or "".
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
