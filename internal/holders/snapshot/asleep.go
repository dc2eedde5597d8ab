//go:build linux && amd64

package snapshot

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// readAsleep returns the threads that were not stopped.
func (l *look) readAsleep() (list []Thread) {
	const rsp, rip = 7, 16 // numbers of DWARF
	for _, t := range l.asleep {
		list = append(list, Thread{ID: t.ID, SP: t.SP, Registers: slices.Clone(t.Arguments[:]), Asleep: true})
		var r unwind.Registers
		r[rsp], r[rip] = t.SP, t.PC
		l.registers = append(l.registers, r)
	}
	return list
}

// findDescriptors finds the thread pointers of the threads that were not stopped.
func (s *Snapshot) findDescriptors() {
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Asleep {
			t.TLS = s.findDescriptor(t)
		}
	}
}

// findDescriptor returns the thread pointer of a thread, or 0. The C library has its descriptor at the end of its
// stack, and that of the main thread in memory of its own.
func (s *Snapshot) findDescriptor(t *Thread) uint64 {
	own, ok := proc.Own(t.ID)
	if !ok {
		return 0
	}
	for _, m := range s.Mappings {
		if strings.HasPrefix(m.Permissions, "rw") && m.Start <= t.SP && t.SP < m.End {
			if at := s.descriptorIn(t.SP, min(m.End, t.SP+maxDescriptors), own); at != 0 {
				return at
			}
		}
	}
	if t.ID != s.PID {
		return 0
	}
	left := uint64(maxDescriptors)
	for _, m := range s.Mappings {
		private := m.Path == "" || s.look.process.Musl && strings.HasPrefix(m.Path, "/")
		if size := m.End - m.Start; private && strings.HasPrefix(m.Permissions, "rw") && size <= left {
			left -= size
			if at := s.descriptorIn(m.Start, m.End, own); at != 0 {
				return at
			}
		}
	}
	return 0
}

// maxDescriptors limits the memory in bytes that is searched.
const maxDescriptors = 256 << 20

// descriptorIn searches memory for a descriptor: it begins with its own address, and has the number of the thread,
// in struct pthread of glibc (nptl/descr.h) behind a header of 704 bytes and a list, in that of musl
// (src/internal/pthread_impl.h) behind six pointers.
func (s *Snapshot) descriptorIn(start, end uint64, id int) uint64 {
	number := uint64(0x2d0)
	if s.look.process.Musl {
		number = 0x30
	}
	const chunk = 1 << 20
	b := make([]byte, chunk)
	for at := start &^ 7; at < end; at += chunk {
		part := b[:min(chunk, end-at)]
		if s.Memory.Read(at, part) != nil {
			continue
		}
		for i := 0; i+8 <= len(part); i += 8 {
			p := at + uint64(i)
			if binary.LittleEndian.Uint64(part[i:]) != p {
				continue
			}
			if n, err := s.Memory.Uint32(p + number); err == nil && n == uint32(id) {
				return p
			}
		}
	}
	return 0
}
