// Package program makes the program of a simulated process: its functions, its call paths, and an ELF
// file with their names.
package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// ProgramPath is the path of the simulated program. The file is below the sysroot of a series.
const ProgramPath = "/srv/app/bin/server"

// Layout of the simulated program's code. All functions have the same size and consist of calls, so
// each multiple of callSize in a function is a return address.
const (
	textStart    = 0x1000
	functionSize = 320
	callSize     = 5
)

// Program holds the functions of the simulated process.
type Program struct {
	Rng   *rand.Rand
	Names []string // demangled
	links []string // mangled, for the symbol table

	containers, callers, roots []int
}

// NewProgram makes a program with its entry points, containers and callers.
func NewProgram(rng *rand.Rand) *Program {
	p := &Program{Rng: rng}
	for _, n := range []string{"main", "EventLoop::run", "WorkerThread::loop"} {
		p.roots = append(p.roots, p.function(n))
	}
	for _, item := range []string{"Entry", "Buffer", "Node"} {
		link := fmt.Sprintf("_ZNSt6vectorI%d%sSaIS0_EE17_M_realloc_insertEv", len(item), item)
		p.containers = append(p.containers, p.symbol("std::vector", link))
	}
	for i := range 60 {
		p.callers = append(p.callers, p.function(fmt.Sprintf("%s::dispatch%d", word(rng, spaces), i)))
	}
	return p
}

var (
	spaces = []string{"storage", "http", "query", "session", "render", "postings", "codec", "metrics", "planner", "router"}
	verbs  = strings.Fields("append build commit decode expand fetch intern load merge parse queue store")
	nouns  = strings.Fields("Block Chunk Frame Key Page Packet Record Row Segment Token Tile Value")
)

func word(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// NewFunction adds a function with a random name, which a number makes unique.
func (p *Program) NewFunction() int {
	return p.function(fmt.Sprintf("%s::%s%s%d", word(p.Rng, spaces), word(p.Rng, verbs), word(p.Rng, nouns), len(p.Names)))
}

// function adds a function named space::name, without parameters.
func (p *Program) function(name string) int {
	parts := strings.Split(name, "::")
	if len(parts) == 1 {
		return p.symbol(name, name)
	}
	link := "_ZN"
	for _, part := range parts {
		link += fmt.Sprint(len(part), part)
	}
	return p.symbol(name, link+"Ev")
}

func (p *Program) symbol(name, link string) int {
	p.Names = append(p.Names, name)
	p.links = append(p.links, link)
	return len(p.Names) - 1
}

// call returns a return address within a function, relative to the start of the program.
func (p *Program) call(function int) uint64 {
	return uint64(textStart + function*functionSize + callSize*(1+p.Rng.IntN(functionSize/callSize-1)))
}

// Name returns the name of the function that contains an address.
func (p *Program) Name(address uint64) string { return p.Names[(address-textStart)/functionSize] }

// Chain returns 4 to 13 callers, from the direct caller of a function to main.
func (p *Program) Chain() []uint64 { return p.CallChain(2 + p.Rng.IntN(10)) }

// CallChain returns n callers, followed by the two outermost functions.
func (p *Program) CallChain(n int) []uint64 {
	var out []uint64
	for range n {
		out = append(out, p.call(p.callers[p.Rng.IntN(len(p.callers))]))
	}
	return append(out, uint64(textStart+p.roots[1+p.Rng.IntN(2)]*functionSize+10*callSize),
		uint64(textStart+p.roots[0]*functionSize+7*callSize))
}

// Stack returns a call path, leaf first: optionally a frame of a container, the function, and its
// callers.
func (p *Program) Stack(function int, container bool, callers []uint64) []uint64 {
	var out []uint64
	if container {
		out = append(out, p.call(p.containers[p.Rng.IntN(len(p.containers))]))
	}
	out = append(out, p.call(function))
	return append(out, callers...)
}

// Size returns the size of the code and of its mapping.
func (p *Program) Size() uint64 {
	n := uint64(textStart + len(p.Names)*functionSize)
	return (n + 0xfff) &^ 0xfff
}

// Image returns the program as an ELF file with one segment and a symbol table.
func (p *Program) Image() []byte {
	var names bytes.Buffer
	names.WriteByte(0)
	symbols := []elf.Sym64{{}}
	for i, link := range p.links {
		symbols = append(symbols, elf.Sym64{
			Name: uint32(names.Len()), Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 1,
			Value: uint64(textStart + i*functionSize), Size: functionSize,
		})
		names.WriteString(link + "\x00")
	}
	text := bytes.Repeat([]byte{0xe8, 0, 0, 0, 0}, len(p.Names)*functionSize/callSize)
	return layOut(p.Size(), text, symbols, names.Bytes())
}

const sectionNames = "\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00"

func layOut(codeSize uint64, text []byte, symbols []elf.Sym64, names []byte) []byte {
	table := encode(symbols)
	at := codeSize
	header := func(name string, kind elf.SectionType, size int) elf.Section64 {
		s := elf.Section64{Name: uint32(strings.Index(sectionNames, name)), Type: uint32(kind),
			Off: at, Size: uint64(size), Addralign: 1}
		at += uint64(size)
		return s
	}
	code := elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR),
		Addr: textStart, Off: textStart, Size: uint64(len(text)), Addralign: 16}
	syms := header(".symtab", elf.SHT_SYMTAB, len(table))
	syms.Link, syms.Info, syms.Entsize = 3, 1, elf.Sym64Size
	sections := []elf.Section64{{}, code, syms, header(".strtab", elf.SHT_STRTAB, len(names)),
		header(".shstrtab", elf.SHT_STRTAB, len(sectionNames))}

	var ident [elf.EI_NIDENT]byte
	copy(ident[:], "\x7fELF\x02\x01\x01")
	head := elf.Header64{Ident: ident, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: 64, Shoff: at, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 4}
	load := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Filesz: codeSize, Memsz: codeSize, Align: 0x1000}

	out := append(encode(head), encode(load)...)
	out = append(out, make([]byte, textStart-len(out))...)
	out = append(out, text...)
	out = append(out, make([]byte, int(codeSize)-len(out))...)
	out = append(out, table...)
	out = append(out, names...)
	out = append(out, sectionNames...)
	return append(out, encode(sections)...)
}

// encode returns the little-endian encoding of a fixed-size value.
func encode(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // v has a type of variable size, which is a bug
	}
	return b
}
