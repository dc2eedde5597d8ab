//go:build linux

package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/status"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// header returns an ELF file that has only a header.
func header(class elf.Class, machine elf.Machine) []byte {
	var b bytes.Buffer
	ident := [16]byte{0x7f, 'E', 'L', 'F', byte(class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	if class == elf.ELFCLASS32 {
		_ = binary.Write(&b, binary.LittleEndian, elf.Header32{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 52,
		})
	} else {
		_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64,
		})
	}
	return b.Bytes()
}

// TestFindRejectsPrograms checks the errors for programs into which no library can be preloaded.
func TestFindRejectsPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		testutil.WriteFile(t, path, string(content), 0o755)
		return path
	}
	static := write("static", header(elf.ELFCLASS64, OwnMachine()))
	foreign := map[elf.Machine]elf.Machine{elf.EM_X86_64: elf.EM_AARCH64, elf.EM_AARCH64: elf.EM_X86_64}[OwnMachine()]
	write("sh", header(elf.ELFCLASS64, OwnMachine())) // a static shell, as busybox is
	docker := write("docker", header(elf.ELFCLASS64, OwnMachine()))
	for path, c := range map[string]struct {
		status int
		says   string
	}{
		static: {125, "static is statically linked: no allocator can be preloaded into it"},
		docker: {125, "docker starts programs in containers, where record does not reach them: let the container run " +
			"heaplapse record -- CMD, or record it from the host: heaplapse attach $(docker inspect -f '{{.State.Pid}}' NAME)"},
		write("i386", header(elf.ELFCLASS32, elf.EM_386)): {125, "i386 is a 32-bit program: only 64-bit programs are supported"},
		write("other", header(elf.ELFCLASS64, foreign)): {125, "other is for " + machineName(foreign) +
			", but this heaplapse is for " + machineName(OwnMachine())},
		write("script", []byte("#!"+static+" -x\n")): {
			125, "static, which runs " + dir + "/script, is statically linked",
		},
		write("by env", []byte("#!/usr/bin/env static\n")): {
			125, "static, which runs " + dir + "/by env, is statically linked",
		},
		write("script of a script", []byte("#!"+dir+"/script\n")): {
			125, "static, which runs " + dir + "/script of a script, is statically linked",
		},
		write("broken", []byte("\x7fELF and no more")): {126, "broken: not a program for this system"},
	} {
		_, err := Find([]string{path}, []string{"PATH=" + dir})
		var e *status.Error
		require.ErrorAs(t, err, &e, path)
		assert.Equal(t, c.status, e.Status, path)
		assert.ErrorContains(t, err, c.says)
	}
	_, err := Find([]string{"sh", "-c", "true"}, []string{"PATH=" + dir})
	assert.NoError(t, err, "a static shell may run a dynamic program")
}

// TestCheckSecureExecution checks that a program is rejected if it gives the user additional
// privileges.
func TestCheckSecureExecution(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	var st unix.Stat_t
	mode := func(m os.FileMode) {
		testutil.WriteFile(t, path, "x", 0o755)
		require.NoError(t, os.Chmod(path, m))
		require.NoError(t, unix.Stat(path, &st))
	}
	mode(0o755 | os.ModeSetuid)
	owner := user{int(st.Uid), int(st.Uid), int(st.Gid)}
	other := user{4711, 4711, 4711}
	assert.NoError(t, checkSecureExecution(path, owner), "the owner gets no other privileges")
	assert.ErrorContains(t, checkSecureExecution(path, other), "program is setuid: the loader ignores LD_PRELOAD for it")
	mode(0o755 | os.ModeSetgid)
	assert.NoError(t, checkSecureExecution(path, owner))
	assert.ErrorContains(t, checkSecureExecution(path, other), "program is setgid: ")
	mode(0o755)
	assert.NoError(t, checkSecureExecution(path, other))
	// struct vfs_cap_data of linux/capability.h: revision 2 with the effective flag, then the
	// permitted CAP_NET_RAW.
	capability := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(path, "security.capability", capability, 0); err != nil {
		t.Skipf("cannot set capabilities of a file: %v", err)
	}
	assert.ErrorContains(t, checkSecureExecution(path, other), "program has capabilities (setcap): ")
	assert.NoError(t, checkSecureExecution(path, user{0, 0, 0}), "root has all capabilities")
	sudo := filepath.Join(filepath.Dir(path), "sudo")
	require.NoError(t, os.Rename(path, sudo))
	assert.ErrorContains(t, checkSecureExecution(sudo, other), "(sudo heaplapse record -- CMD)")
}

func TestFindResolvesScripts(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
		return path
	}
	write("inner", "#!/bin/sh\n")
	for text, want := range map[string]string{
		"#!/bin/sh\n":                             "/bin/sh",
		"#! /bin/sh -e\n":                         "/bin/sh",
		"#!/usr/bin/env sh\n":                     "sh",
		"#!/usr/bin/env -S A=1 sh -x\n":           "sh",
		"#!/usr/bin/env inner\n":                  "sh",
		"echo a text without an interpreter $1\n": "sh",
	} {
		target, err := Find([]string{write("script", text)}, env)
		require.NoError(t, err, text)
		wantExe, err := exec.LookPath(want)
		require.NoError(t, err)
		assert.Equal(t, filepath.Base(wantExe), filepath.Base(target.Exe), text)
		assert.NotEmpty(t, target.Interpreter, text)
		assert.Equal(t, strings.HasPrefix(text, "echo"), target.Shell, text)
	}
	loop := write("loop", "#!"+filepath.Join(dir, "loop")+"\n")
	_, err := Find([]string{loop}, env)
	require.ErrorContains(t, err, "too many levels of script interpreters")
}
