// Command symextract writes small replacements of the files that a recorded process had mapped, so
// that a fixture can be symbolized on machines with other builds. A replacement is an ELF file with
// the same segments and build ID. It has only those symbols that name an address in the series.
// Several series may share a sysroot.
//
//	symextract -o testdata/python/sysroot testdata/python
package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

func main() {
	out := flag.String("o", "", "write the files below the sysroot `DIR`")
	skip := flag.String("skip", "", "omit files whose path begins with `PREFIX`")
	flag.Parse()
	if err := run(*out, *skip, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "symextract:", err)
		os.Exit(1)
	}
}

func run(out, skip string, paths []string) error {
	files := map[string]file{}
	for _, p := range paths {
		if err := collect(files, p); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if skip != "" && strings.HasPrefix(path, skip) {
			continue
		}
		if err := write(filepath.Join(out, path), files[path]); err != nil {
			return err
		}
	}
	return nil
}

// file is a mapped file.
type file struct {
	name   string   // path on this machine
	wanted []uint64 // addresses in the series, as virtual addresses of the file
}

// collect adds the mapped files of a series to files, by their path in the snapshots.
func collect(files map[string]file, path string) error {
	series, err := series.Open([]string{path}, series.Options{})
	if err != nil {
		return err
	}
	defer series.Close()
	symbols, err := symbolize.Resolve(context.Background(), series, symbolize.Options{})
	if err != nil {
		return err
	}
	for _, m := range symbols.Modules {
		if f := files[m.Path]; m.File != "" {
			f.name = m.File
			files[m.Path] = f
		}
	}
	for _, l := range symbols.Locations {
		if l.Module == symbolize.NoModule || l.Reason == symbolize.ReasonStale {
			continue
		}
		path := symbols.Modules[l.Module].Path
		if f, ok := files[path]; ok {
			f.wanted = append(f.wanted, l.Offset-1)
			files[path] = f
		}
	}
	return nil
}

func write(to string, f file) error {
	content, err := extract(f.name, f.wanted)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, content, 0o644); err != nil {
		return err
	}
	fmt.Println(to, len(content))
	return nil
}

// extract returns the replacement of a file.
func extract(path string, addrs []uint64) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := &writer{in: f}
	for _, s := range f.Sections {
		switch {
		case s.Type == elf.SHT_NOTE && s.Name == ".note.gnu.build-id":
			data, err := s.Data()
			if err != nil {
				return nil, err
			}
			w.add(s.Name, s.SectionHeader, data)
		case s.Flags&elf.SHF_EXECINSTR != 0:
			w.add(s.Name, s.SectionHeader, nil)
		}
	}
	if err := w.symbols(addrs); err != nil {
		return nil, err
	}
	return w.bytes(), nil
}

type section struct {
	name string
	elf.SectionHeader
	data []byte
}

type writer struct {
	in       *elf.File
	sections []section
	index    map[elf.SectionIndex]uint16 // new indices of the sections with code, by old index
}

// add adds a section. data is nil for a section with code, whose contents are omitted.
func (w *writer) add(name string, h elf.SectionHeader, data []byte) {
	if data == nil {
		h.Type = elf.SHT_NOBITS
		if w.index == nil {
			w.index = map[elf.SectionIndex]uint16{}
		}
		for i, s := range w.in.Sections {
			if s.Offset == h.Offset && s.Name == name {
				w.index[elf.SectionIndex(i)] = uint16(len(w.sections) + 1)
			}
		}
	}
	w.sections = append(w.sections, section{name, h, data})
}

// symbols adds the symbol table, reduced to the symbols of the addresses.
func (w *writer) symbols(addrs []uint64) error {
	table, strings := ".symtab", ".strtab"
	if w.in.Section(table) == nil {
		table, strings = ".dynsym", ".dynstr"
	}
	from := w.in.Section(table)
	if from == nil {
		return nil
	}
	raw, err := from.Data()
	if err != nil {
		return err
	}
	names, err := w.in.Section(strings).Data()
	if err != nil {
		return err
	}
	kept, text := w.filter(raw, names, addrs)
	h := from.SectionHeader
	h.Link = uint32(len(w.sections) + 2)
	h.Flags, h.Addr = 0, 0
	w.add(table, h, kept)
	w.add(strings, elf.SectionHeader{Type: elf.SHT_STRTAB, Addralign: 1}, text)
	return nil
}

const symbolSize = elf.Sym64Size

// filter returns the symbols that begin at the last start at or before each address, the file
// symbols of local ones, and their string table.
func (w *writer) filter(raw, names []byte, addrs []uint64) (kept, text []byte) {
	starts := w.starts(raw)
	want := map[uint64]bool{}
	for _, a := range addrs {
		i, ok := slices.BinarySearch(starts, a)
		if !ok {
			i--
		}
		if i >= 0 {
			want[starts[i]] = true
		}
	}
	kept, text = make([]byte, symbolSize), []byte{0}
	var file []byte
	for b := raw; len(b) >= symbolSize; b = b[symbolSize:] {
		switch {
		case elf.ST_TYPE(b[4]) == elf.STT_FILE:
			file = b[:symbolSize]
		case w.code(b) && want[binary.LittleEndian.Uint64(b[8:])]:
			if elf.ST_BIND(b[4]) == elf.STB_LOCAL && file != nil {
				kept, text = w.symbol(kept, text, file, names)
				file = nil
			}
			kept, text = w.symbol(kept, text, b[:symbolSize], names)
		}
	}
	return kept, text
}

// code reports whether an encoded symbol names code or data in a section with code.
func (w *writer) code(b []byte) bool {
	_, ok := w.index[elf.SectionIndex(binary.LittleEndian.Uint16(b[6:]))]
	t := elf.ST_TYPE(b[4])
	return ok && (t == elf.STT_FUNC || t == elf.STT_NOTYPE || t == elf.STT_GNU_IFUNC || t == elf.STT_OBJECT)
}

// starts returns the addresses of all symbols, sorted.
func (w *writer) starts(raw []byte) []uint64 {
	var out []uint64
	for b := raw; len(b) >= symbolSize; b = b[symbolSize:] {
		if w.code(b) {
			out = append(out, binary.LittleEndian.Uint64(b[8:]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// symbol appends a copy of an encoded symbol and its name.
func (w *writer) symbol(kept, text, b, names []byte) (newKept, newText []byte) {
	name := names[binary.LittleEndian.Uint32(b):]
	name = name[:bytes.IndexByte(name, 0)+1]
	s := bytes.Clone(b)
	binary.LittleEndian.PutUint32(s, uint32(len(text)))
	if i, ok := w.index[elf.SectionIndex(binary.LittleEndian.Uint16(s[6:]))]; ok {
		binary.LittleEndian.PutUint16(s[6:], i)
	}
	return append(kept, s...), append(text, name...)
}

// bytes returns the file: header, program headers, contents, section headers.
func (w *writer) bytes() []byte {
	offsets := w.addNames()
	loads := w.loads()
	body, headers := w.body(offsets, uint64(64+56*len(loads)))
	header := elf.Header64{
		Type: uint16(w.in.Type), Machine: uint16(w.in.Machine), Version: 1,
		Phoff: 64, Shoff: uint64(64 + 56*len(loads) + len(body)), Ehsize: 64,
		Phentsize: 56, Phnum: uint16(len(loads)),
		Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1),
	}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var out bytes.Buffer
	for _, v := range []any{header, loads, body, headers} {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			panic(err) // one of them has no fixed size, which is a bug
		}
	}
	return out.Bytes()
}

// addNames adds the section with the names of the sections, and returns the offset of each name.
func (w *writer) addNames() []uint32 {
	w.sections = append(w.sections, section{".shstrtab", elf.SectionHeader{Type: elf.SHT_STRTAB, Addralign: 1}, nil})
	names := []byte{0}
	offsets := make([]uint32, len(w.sections))
	for i, s := range w.sections {
		offsets[i] = uint32(len(names))
		names = append(append(names, s.name...), 0)
	}
	w.sections[len(w.sections)-1].data = names
	return offsets
}

// loads returns the program headers of the segments.
func (w *writer) loads() (loads []elf.Prog64) {
	for _, p := range w.in.Progs {
		if p.Type == elf.PT_LOAD {
			loads = append(loads, elf.Prog64{
				Type: uint32(p.Type), Flags: uint32(p.Flags), Off: p.Off, Vaddr: p.Vaddr, Paddr: p.Paddr,
				Filesz: p.Filesz, Memsz: p.Memsz, Align: p.Align,
			})
		}
	}
	return loads
}

// body returns the contents of the sections, aligned to 8 bytes, and the section headers. base is
// the offset of the contents in the file.
func (w *writer) body(names []uint32, base uint64) ([]byte, []elf.Section64) {
	var body []byte
	headers := []elf.Section64{{}}
	for i, s := range w.sections {
		headers = append(headers, elf.Section64{
			Name: names[i], Type: uint32(s.Type), Flags: uint64(s.Flags), Addr: s.Addr,
			Off: base + uint64(len(body)), Size: cmp.Or(uint64(len(s.data)), s.Size),
			Link: s.Link, Addralign: s.Addralign, Entsize: s.Entsize,
		})
		body = append(body, s.data...)
		body = append(body, make([]byte, -len(body)&7)...)
	}
	return body, headers
}
