package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMalformedFiles(t *testing.T) {
	whole := image(code(0x1000, 0x10))
	edited := func(edit func([]byte)) []byte {
		b := bytes.Clone(whole)
		edit(b)
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		msg  string
	}{
		"empty":                     {nil, "empty"},
		"text":                      {[]byte("#!/bin/sh\necho\n"), "not a readable ELF file"},
		"truncated header":          {whole[:40], "40 bytes, fewer than an ELF header"},
		"truncated section headers": {whole[:len(whole)-70], "was it truncated? copy it again"},
		"32 bits":                   {edited(func(b []byte) { b[elf.EI_CLASS] = byte(elf.ELFCLASS32) }), "not a 64-bit little-endian ELF file"},
		"big-endian":                {edited(func(b []byte) { b[elf.EI_DATA] = byte(elf.ELFDATA2MSB) }), "not a 64-bit little-endian ELF file"},
		"unknown version":           {edited(func(b []byte) { b[elf.EI_VERSION] = 9 }), "not a readable ELF file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.data)
			f, err := Open(path)
			require.Nil(t, f)
			require.ErrorContains(t, err, c.msg)
			require.ErrorContains(t, err, path, "an error has the path of the file")
		})
	}
	_, err := Open(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestPipesAreNotOpened: opening a pipe would wait for a writer.
func TestPipesAreNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := Open(path)
	require.ErrorContains(t, err, path+": not a regular file")
}

func TestBuildID(t *testing.T) {
	note := func(name string, kind uint32, desc ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)+1))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
		b = binary.LittleEndian.AppendUint32(b, kind)
		b = append(append(b, name...), make([]byte, 4-len(name)%4)...)
		return append(append(b, desc...), make([]byte, (4-len(desc)%4)%4)...)
	}
	id := note("GNU", 3, 0xde, 0xad, 0xbe, 0xef, 0x01)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"alone":                 {id, "deadbeef01"},
		"after other notes":     {append(append(note("GNU", 1, 1, 2, 3, 4, 5, 6, 7), note("Go", 4, 1)...), id...), "deadbeef01"},
		"another name":          {note("stapsdt", 3, 1, 2, 3), ""},
		"another type":          {note("GNU", 1, 1, 2, 3), ""},
		"no content":            {note("GNU", 3), ""},
		"truncated":             {id[:18], ""},
		"name longer than note": {append([]byte{0xff, 0xff, 0xff, 0xff}, id[4:]...), ""},
		"desc longer than note": {append(append([]byte{}, id[:4]...), append([]byte{0xff, 0xff, 0xff, 0xff}, id[8:]...)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, section{name: ".note.gnu.build-id", kind: elf.SHT_NOTE, data: c.data, align: 4})
			require.Equal(t, c.want, f.BuildID)
		})
	}
}

func TestDebugLinks(t *testing.T) {
	link := func(data string) *File {
		return open(t, section{name: ".gnu_debuglink", kind: elf.SHT_PROGBITS, data: []byte(data)})
	}
	name, crc, ok := link("program.debug\x00\x00\x00\x44\x33\x22\x11").DebugLink()
	require.True(t, ok)
	require.Equal(t, "program.debug", name)
	require.Equal(t, uint32(0x11223344), crc)
	for _, bad := range []string{"", "\x00\x00\x00\x00\x44\x33\x22\x11", "no end of name", "ab\x00\x00\x44\x33\x22", "abcdefgh\x00"} {
		_, _, ok := link(bad).DebugLink()
		require.False(t, ok, "%q", bad)
	}
	alt := func(data string) *File {
		return open(t, section{name: ".gnu_debugaltlink", kind: elf.SHT_PROGBITS, data: []byte(data)})
	}
	name, id, ok := alt("common.dwz\x00\xab\xcd").AltLink()
	require.True(t, ok)
	require.Equal(t, []string{"common.dwz", "abcd"}, []string{name, id})
	for _, bad := range []string{"", "\x00\xab", "no end"} {
		_, _, ok := alt(bad).AltLink()
		require.False(t, ok, "%q", bad)
	}
}

// compressed returns a compressed section .debug_info. claim is the size in its header.
func compressed(t testing.TB, kind string, content []byte, claim int) section {
	t.Helper()
	var stream bytes.Buffer
	header := make([]byte, 24)
	binary.LittleEndian.PutUint64(header[8:], uint64(claim))
	s := section{name: ".debug_info", kind: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED}
	switch kind {
	case "zlib", "zlib-gnu":
		z := zlib.NewWriter(&stream)
		_, err := z.Write(content)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		binary.LittleEndian.PutUint32(header, uint32(elf.COMPRESS_ZLIB))
	case "zstd":
		z, err := zstd.NewWriter(&stream)
		require.NoError(t, err)
		_, err = z.Write(content)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		binary.LittleEndian.PutUint32(header, uint32(elf.COMPRESS_ZSTD))
	}
	if kind == "zlib-gnu" {
		s.name, s.flags = ".zdebug_info", 0
		header = binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(claim))
	}
	s.data = append(header, stream.Bytes()...)
	return s
}

func TestCompressedSections(t *testing.T) {
	content := bytes.Repeat([]byte("debugging information "), 500)
	for _, kind := range []string{"zlib", "zlib-gnu", "zstd"} {
		t.Run(kind, func(t *testing.T) {
			whole := compressed(t, kind, content, len(content))
			got, err := open(t, whole).Section(".debug_info")
			require.NoError(t, err)
			require.Equal(t, content, got)

			_, err = open(t, compressed(t, kind, content, len(content)+1)).Section(".debug_info")
			require.ErrorContains(t, err, "cannot be decompressed", "the stream is shorter than the header says")
			_, err = open(t, compressed(t, kind, content, 1<<40)).Section(".debug_info")
			require.ErrorContains(t, err, "claim to decompress to 1099511627776", "a decompression bomb")
			for n := range len(whole.data) - 8 {
				cut := whole
				cut.data = whole.data[:n]
				path := write(t, image(cut))
				f, err := Open(path)
				if err == nil {
					_, err = f.Section(".debug_info")
					require.NoError(t, f.Close())
				}
				require.ErrorContains(t, err, path, "%d of %d bytes", n, len(whole.data))
			}
		})
	}
	other := compressed(t, "zlib", content, len(content))
	other.data[0] = 77
	_, err := open(t, other).Section(".debug_info")
	require.ErrorContains(t, err, "compression type 77 is not supported")
}

// TestCompressionRatios: a section may have 64 MiB, or 64 times its compressed size.
func TestCompressionRatios(t *testing.T) {
	zeros := make([]byte, 65<<20)
	_, err := open(t, compressed(t, "zlib", zeros, len(zeros))).Section(".debug_info")
	require.ErrorContains(t, err, "claim to decompress to 68157440, more than 67108864")
	got, err := open(t, compressed(t, "zlib", zeros[:1<<20], 1<<20)).Section(".debug_info")
	require.NoError(t, err, "1000:1, but less than 64 MiB")
	require.Len(t, got, 1<<20)
	require.Equal(t, uint64(128<<20), maxExpanded(2<<20))
	require.Equal(t, uint64(maxSection), maxExpanded(1<<40))
}

// TestSectionsOutsideTheFile: the size in a section header exceeds the file.
func TestSectionsOutsideTheFile(t *testing.T) {
	data := image(section{name: ".debug_info", kind: elf.SHT_PROGBITS, data: []byte("abc")})
	headers := binary.LittleEndian.Uint64(data[40:])
	binary.LittleEndian.PutUint64(data[headers+64+32:], 1<<40) // sh_size of section 1
	f, err := Open(write(t, data))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Section(".debug_info")
	require.ErrorContains(t, err, "section .debug_info: is outside the file: is the file truncated?")
}

func TestMissingSections(t *testing.T) {
	f := open(t, section{name: ".debug_info", kind: elf.SHT_NOBITS, data: nil})
	for _, name := range []string{".debug_info", ".debug_line", ".zdebug_info"} {
		got, err := f.Section(name)
		require.NoError(t, err)
		require.Nil(t, got)
		require.False(t, f.Has(name))
	}
}

// TestTruncatedWhileMapped: Guard returns an error if the file is truncated while it is mapped.
func TestTruncatedWhileMapped(t *testing.T) {
	path := write(t, image(section{name: ".debug_info", kind: elf.SHT_PROGBITS, data: make([]byte, 1<<20)}))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Truncate(path, 100))
	err = f.Guard(func() error {
		raw, err := f.Section(".debug_info")
		if err != nil {
			return err
		}
		require.NotEqual(t, byte(1), raw[len(raw)-1])
		return nil
	})
	require.EqualError(t, err, path+": truncated while it was read: run this again")
}

func TestGuardReturnsErrors(t *testing.T) {
	f := open(t, code(0, 1))
	mine := errors.New("mine")
	require.Equal(t, mine, f.Guard(func() error { return mine }))
	require.NoError(t, f.Guard(func() error { return nil }))
}

// TestAt reads by address. Only content of loaded segments that is in the file can be read.
func TestAt(t *testing.T) {
	f := open(t, code(0, 0x100))
	f.Progs = []elf.ProgHeader{{Type: elf.PT_LOAD, Off: 0x40, Vaddr: 0x1000, Filesz: 0x10, Memsz: 0x20}}
	require.Len(t, f.At(0x1000, 0x10), 0x10)
	require.Len(t, f.At(0x100f, 1), 1)
	for _, outside := range [][2]uint64{{0xfff, 1}, {0x1000, 0x11}, {0x100f, 2}, {0x1010, 1}, {^uint64(0), 1}, {0x1000, ^uint64(0)}} {
		require.Nil(t, f.At(outside[0], outside[1]), "%x", outside)
	}
}
