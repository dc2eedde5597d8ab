package leaksim

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// programPath is the path of the simulated program. The file is below the sysroot of a series.
const programPath = "/srv/app/bin/server"

// Layout of the simulated program's code. All functions have the same size and consist of calls, so
// each multiple of callSize in a function is a return address.
const (
	textStart    = 0x1000
	functionSize = 320
	callSize     = 5
)

// program holds the functions of the simulated process.
type program struct {
	rng   *rand.Rand
	names []string // demangled
	links []string // mangled, for the symbol table

	containers, callers, roots []int
}

func newProgram(rng *rand.Rand) *program {
	p := &program{rng: rng}
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

// newFunction adds a function with a random name, which a number makes unique.
func (p *program) newFunction() int {
	return p.function(fmt.Sprintf("%s::%s%s%d", word(p.rng, spaces), word(p.rng, verbs), word(p.rng, nouns), len(p.names)))
}

// function adds a function named space::name, without parameters.
func (p *program) function(name string) int {
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

func (p *program) symbol(name, link string) int {
	p.names = append(p.names, name)
	p.links = append(p.links, link)
	return len(p.names) - 1
}

// call returns a return address within a function, relative to the start of the program.
func (p *program) call(function int) uint64 {
	return uint64(textStart + function*functionSize + callSize*(1+p.rng.IntN(functionSize/callSize-1)))
}

// chain returns 4 to 13 callers, from the direct caller of a function to main.
func (p *program) chain() []uint64 { return p.callChain(2 + p.rng.IntN(10)) }

// callChain returns n callers, followed by the two outermost functions.
func (p *program) callChain(n int) []uint64 {
	var out []uint64
	for range n {
		out = append(out, p.call(p.callers[p.rng.IntN(len(p.callers))]))
	}
	return append(out, uint64(textStart+p.roots[1+p.rng.IntN(2)]*functionSize+10*callSize),
		uint64(textStart+p.roots[0]*functionSize+7*callSize))
}

// stack returns a call path, leaf first: optionally a frame of a container, the function, and its
// callers.
func (p *program) stack(function int, container bool, callers []uint64) []uint64 {
	var out []uint64
	if container {
		out = append(out, p.call(p.containers[p.rng.IntN(len(p.containers))]))
	}
	out = append(out, p.call(function))
	return append(out, callers...)
}

// size returns the size of the code and of its mapping.
func (p *program) size() uint64 {
	n := uint64(textStart + len(p.names)*functionSize)
	return (n + 0xfff) &^ 0xfff
}

// image returns the program as an ELF file with one segment and a symbol table.
func (p *program) image() []byte {
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
	text := bytes.Repeat([]byte{0xe8, 0, 0, 0, 0}, len(p.names)*functionSize/callSize)
	return layOut(p.size(), text, symbols, names.Bytes())
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

// dust is one of thousands of stacks with few bytes in use. They make files so large that
// gperftools ≤2.15 truncates them. They need no simulation: their bytes in use are constant, and
// their cumulative counts are linear.
type dust struct {
	stack []uint64
	size  int64
	live  int64
	rate  float64 // number of objects per span that are allocated and freed at once
}

const dustFunctions = 400

// addDust draws the dust of the process.
func (p *Process) addDust(rng *rand.Rand) {
	functions := make([]int, dustFunctions)
	for i := range functions {
		functions[i] = p.program.newFunction()
		p.DustNames = append(p.DustNames, p.program.names[functions[i]])
	}
	// If there are many stacks, or few of them are dead, truncation affects stacks with bytes in
	// use.
	n, dead, typical := int(logUniform(rng, 6500, 12000)), uniform(rng, 0.05, 0.5), logUniform(rng, 3, 300)
	depth := 8 + rng.IntN(20)
	seen := map[string]bool{}
	for len(p.dust) < n {
		stack := p.program.stack(functions[rng.IntN(dustFunctions)], false, p.program.callChain(depth))
		if key := stackText(stack, 0); !seen[key] {
			seen[key] = true
			p.dust = append(p.dust, newDust(rng, stack, dead, typical))
		}
	}
}

func newDust(rng *rand.Rand, stack []uint64, dead, typical float64) dust {
	d := dust{stack: stack, size: int64(clamp(logNormal(rng, 120, 1.3), 8, 1<<16))}
	if !Chance(rng, dead) {
		d.live = 1 + int64(logNormal(rng, typical, 1.8))
	}
	if Chance(rng, 0.5) {
		d.rate = logNormal(rng, 2000, 2)
	}
	return d
}

// at returns the counts at a time after the start of the process image.
func (d *dust) at(since float64) point {
	n := d.live + 1 + int64(d.rate*since)
	return point{live: d.live, bytes: d.live * d.size, allocs: n, allocBytes: n * d.size}
}
