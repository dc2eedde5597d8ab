//go:build linux

package record

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// fakeLibraries returns two shared libraries for this machine: one with a profiler and one without.
func fakeLibraries(t *testing.T) (profiler, minimal []byte) {
	t.Helper()
	gcc := testutil.Need(t, "gcc")
	compile := func(text string) []byte {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/l.c", []byte(text), 0o600))
		out, err := exec.Command(gcc, "-shared", "-nostdlib", "-fPIC", "-o", dir+"/l.so", dir+"/l.c").CombinedOutput()
		require.NoError(t, err, "%s", out)
		content, err := os.ReadFile(dir + "/l.so")
		require.NoError(t, err)
		return content
	}
	return compile("void HeapProfilerStart(void) {} void mallctl(void) {}"), compile("void tc_malloc(void) {}")
}

func thisABI() program.ABI { return (&program.Target{}).ABI() }

// TestFindLibraryOnEachDistribution puts the library where each distribution installs it.
func TestFindLibraryOnEachDistribution(t *testing.T) {
	profiler, minimal := fakeLibraries(t)
	triplet := program.Triplets[program.OwnMachine()]
	for name, c := range map[string]struct {
		env   []string
		place string
		cache bool // only ldconfig lists it
	}{
		"Debian, Ubuntu":       {place: "/usr/lib/" + triplet},
		"Debian before merge":  {place: "/lib/" + triplet},
		"Fedora, openSUSE":     {place: "/usr/lib64"},
		"Arch, Alpine":         {place: "/usr/lib"},
		"built locally":        {place: "/usr/local/lib"},
		"Nix, user's profile":  {place: "/home/u/.nix-profile/lib", env: []string{"HOME=/home/u"}},
		"Nix, newer profile":   {place: "/home/u/.local/state/nix/profile/lib", env: []string{"HOME=/home/u"}},
		"NixOS":                {place: "/run/current-system/sw/lib"},
		"Nix, default profile": {place: "/nix/var/nix/profiles/default/lib"},
		"Nix, store":           {place: "/nix/store/0i4x8a-package-2.15/lib"},
		"conda, active":        {place: "/envs/e/lib", env: []string{"CONDA_PREFIX=/envs/e"}},
		"conda, base":          {place: "/opt/conda/lib"},
		"module": {
			place: "/apps/gperftools/lib", env: []string{"LD_LIBRARY_PATH=:relative:/apps/gperftools/lib"},
		},
		"ldconfig -p": {place: "/opt/vendor/lib", cache: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range []external{jemalloc{}, tcmalloc{}} {
				s, sys := e.library(), program.System{Root: t.TempDir()}
				want := filepath.Join(c.place, s.Names[0])
				testutil.WriteFile(t, sys.At(want), string(profiler), 0o644)
				testutil.WriteFile(t, sys.At("/usr/lib/libtcmalloc_minimal.so.4"), string(minimal), 0o644)
				if c.cache {
					script := "#!/bin/sh\necho '\t" + s.Names[0] + " (libc6,x86-64) => " + want + "'\n"
					testutil.WriteFile(t, sys.At("/sbin/ldconfig"), script, 0o755)
				}
				got, _ := s.FindLibrary(sys, thisABI(), c.env)
				assert.Equal(t, want, got)
			}
		})
	}
}

// TestFindLibraryExplainsFailures checks the reasons for libraries that cannot be used.
func TestFindLibraryExplainsFailures(t *testing.T) {
	profiler, minimal := fakeLibraries(t)
	other := append([]byte(nil), profiler...)
	other[18], other[19] = byte(elf.EM_RISCV), 0 // e_machine
	for why, c := range map[string]struct {
		name    string
		content []byte
		says    string
	}{
		"nothing":       {"libtcmalloc.so.4", nil, ""},
		"minimal":       {"libtcmalloc_minimal.so.4", minimal, `libtcmalloc_minimal\.so\.4 has no heap profiler \(HeapProfilerStart is missing\)$`},
		"renamed":       {"libtcmalloc.so.4", minimal, `libtcmalloc\.so\.4 has no heap profiler`},
		"other machine": {"libtcmalloc.so.4", other, `libtcmalloc\.so\.4 is for riscv, but the program is for `},
		"linker script": {"libtcmalloc.so", []byte("INPUT(-ltcmalloc)\n"), `libtcmalloc\.so is not a shared library`},
	} {
		t.Run(why, func(t *testing.T) {
			sys := program.System{Root: t.TempDir()}
			if c.content != nil {
				testutil.WriteFile(t, sys.At("/usr/lib64/"+c.name), string(c.content), 0o644)
			}
			path, reason := tcmalloc{}.library().FindLibrary(sys, thisABI(), nil)
			assert.Empty(t, path)
			if c.says == "" {
				assert.NoError(t, reason)
			} else {
				assert.Regexp(t, c.says, reason)
			}
		})
	}
	sys := program.System{Root: t.TempDir()}
	testutil.WriteFile(t, sys.At("/usr/local/lib/libtcmalloc.so.4"), string(other), 0o644)
	testutil.WriteFile(t, sys.At("/usr/lib/libtcmalloc.so.4"), string(profiler), 0o644)
	path, _ := tcmalloc{}.library().FindLibrary(sys, thisABI(), nil)
	assert.Equal(t, "/usr/lib/libtcmalloc.so.4", path, "the search continues after an unusable library")
}

// TestInstallOnEachDistribution checks the suggested command for the os-release file of each
// distribution.
func TestInstallOnEachDistribution(t *testing.T) {
	debian := [2]string{"apt install libgoogle-perftools4", "apt install libjemalloc2"}
	t64 := [2]string{"apt install libgoogle-perftools4t64", "apt install libjemalloc2"}
	for text, want := range map[string][2]string{
		"ID=debian\nVERSION_ID=\"12\"\n":                               debian,
		"ID=debian\nVERSION_ID=\"13\"\n":                               t64,
		"ID=debian\n":                                                  t64, // testing
		"ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n":            debian,
		"ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n":            t64,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n": debian, // the package t64 provides it
		"ID=fedora\nVERSION_ID=42\n": {
			"dnf install gperftools-libs", "dnf install jemalloc",
		},
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"": {
			"dnf install gperftools-libs (from EPEL)", "dnf install jemalloc (from EPEL)",
		},
		"ID=arch\n":                      {"pacman -S gperftools", "pacman -S jemalloc"},
		"ID=manjaro\nID_LIKE=arch\n":     {"pacman -S gperftools", "pacman -S jemalloc"},
		"ID=alpine\nVERSION_ID=3.20.1\n": {"apk add gperftools", "apk add jemalloc"},
		"ID=nixos\n":                     {"nix-env -iA nixos.gperftools", "nix-env -iA nixos.jemalloc"},
		"ID=gentoo\n":                    {"emerge dev-util/google-perftools", "emerge dev-libs/jemalloc"},
		"ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n": {
			"zypper install libtcmalloc4", "zypper install libjemalloc2",
		},
		"NAME='x'\n": {"apt install libgoogle-perftools4 (Debian, Ubuntu), or your distribution's package",
			"apt install libjemalloc2 (Debian, Ubuntu), or your distribution's package"},
	} {
		sys := program.System{Root: t.TempDir()}
		testutil.WriteFile(t, sys.At("/etc/os-release"), text, 0o644)
		got := [2]string{tcmalloc{}.library().Install(sys, nil), jemalloc{}.library().Install(sys, nil)}
		assert.Equal(t, want, got, text)
	}
	sys := program.System{Root: t.TempDir()}
	testutil.WriteFile(t, sys.At("/usr/lib/os-release"), "ID=arch\n", 0o644)
	assert.Equal(t, "pacman -S jemalloc, or in this conda environment: conda install -c conda-forge jemalloc",
		jemalloc{}.library().Install(sys, []string{"CONDA_PREFIX=/c"}))
}

// TestUsableComparesCLibraries checks that a library for glibc is rejected for a program for musl.
func TestUsableComparesCLibraries(t *testing.T) {
	gcc := testutil.Need(t, "gcc")
	dir := t.TempDir()
	testutil.WriteFile(t, dir+"/p.c", "int main(void) { return 0; }", 0o600)
	linker := "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
	out, err := exec.Command(gcc, "-o", dir+"/musl", linker, dir+"/p.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	testutil.WriteFile(t, dir+"/l.c", "#include <stdlib.h>\nvoid HeapProfilerStart(void) { abort(); }", 0o600)
	out, err = exec.Command(gcc, "-shared", "-fPIC", "-o", dir+"/libtcmalloc.so.4", dir+"/l.c").CombinedOutput()
	require.NoError(t, err, "%s", out)

	target, err := program.Find([]string{dir + "/musl"}, nil)
	require.NoError(t, err)
	assert.Equal(t, program.ABI{Machine: program.OwnMachine(), Libc: "musl"}, target.ABI())
	err = tcmalloc{}.library().Usable(dir+"/libtcmalloc.so.4", target.ABI())
	require.ErrorContains(t, err, "libtcmalloc.so.4 is for glibc, but the program is for musl: it needs a library built for musl")
	target, err = program.Find([]string{"true"}, os.Environ())
	require.NoError(t, err)
	if target.ABI().Libc == "glibc" {
		require.NoError(t, tcmalloc{}.library().Usable(dir+"/libtcmalloc.so.4", target.ABI()))
	}
}

// TestFindLibraryForRoot: root takes no library that another user can replace.
func TestFindLibraryForRoot(t *testing.T) {
	testutil.Superuser(t)
	profiler, _ := fakeLibraries(t)
	sys := program.System{Root: t.TempDir()}
	theirs, good := sys.At("/opt/conda/lib/libtcmalloc.so.4"), sys.At("/home/linuxbrew/.linuxbrew/lib/libtcmalloc.so.4")
	testutil.WriteFile(t, theirs, string(profiler), 0o644)
	require.NoError(t, os.Chown(filepath.Dir(theirs), testutil.Stranger, testutil.Stranger))
	path, reason := tcmalloc{}.library().FindLibrary(sys, thisABI(), nil)
	assert.Empty(t, path)
	require.EqualError(t, reason, theirs+" is not used for root: "+filepath.Dir(theirs)+" belongs to user 54321")

	testutil.WriteFile(t, good, string(profiler), 0o644)
	path, _ = tcmalloc{}.library().FindLibrary(sys, thisABI(), nil)
	assert.Equal(t, "/home/linuxbrew/.linuxbrew/lib/libtcmalloc.so.4", path, "the search continues")
}
