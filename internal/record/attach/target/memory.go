//go:build linux

package target

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Memory is the memory of a process. PID may be the number of any of its threads.
type Memory struct {
	PID int
	// Anonymous reads what it can read; the rest is read by process_vm_readv(2). It may be nil.
	Anonymous *Anonymous
}

// Read fills b with the bytes at an address.
func (m Memory) Read(address uint64, b []byte) error {
	if m.Anonymous.has(address, len(b)) {
		return m.Anonymous.read(address, b)
	}
	return m.transfer(unix.ProcessVMReadv, "process_vm_readv", address, b)
}

// Write writes b to an address that is writable for the process.
func (m Memory) Write(address uint64, b []byte) error {
	return m.transfer(unix.ProcessVMWritev, "process_vm_writev", address, b)
}

type transfer func(pid int, local []unix.Iovec, remote []unix.RemoteIovec, flags uint) (int, error)

func (m Memory) transfer(call transfer, name string, address uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := call(m.PID, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	if err != nil {
		return os.NewSyscallError(name, err)
	}
	if n != len(b) {
		return fmt.Errorf("%s: %d bytes at %#x: %w", name, len(b), address, io.ErrUnexpectedEOF)
	}
	return nil
}

// WriteCode writes b to an address that need not be writable. The process must be traced.
func (m Memory) WriteCode(address uint64, b []byte) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", m.PID), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(b, int64(address))
	return err
}

// Uint16 reads a number.
func (m Memory) Uint16(address uint64) (uint16, error) {
	var b [2]byte
	err := m.Read(address, b[:])
	return binary.LittleEndian.Uint16(b[:]), err
}

// Uint32 reads a number.
func (m Memory) Uint32(address uint64) (uint32, error) {
	var b [4]byte
	err := m.Read(address, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// Uint64 reads a number.
func (m Memory) Uint64(address uint64) (uint64, error) {
	var b [8]byte
	err := m.Read(address, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// PutUint32 writes a number.
func (m Memory) PutUint32(address uint64, v uint32) error {
	return m.Write(address, binary.LittleEndian.AppendUint32(nil, v))
}

// PutUint64 writes a number.
func (m Memory) PutUint64(address uint64, v uint64) error {
	return m.Write(address, binary.LittleEndian.AppendUint64(nil, v))
}

// String reads a text that ends with a zero byte, of at most max bytes.
func (m Memory) String(address uint64, max int) string {
	b := make([]byte, max)
	for len(b) > 0 && m.Read(address, b) != nil { // it may end before the end of the mapping
		b = b[:len(b)/2]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// page is the unit in which Cache reads.
const page = 4096

// Cache reads memory that does not change while it is used, such as code, page by page. Its zero
// value with Memory set is empty.
type Cache struct {
	Memory
	pages map[uint64]*[page]byte
}

// maxPages limits the memory of a Cache: 64 MiB.
const maxPages = 1 << 14

// Read fills b with the bytes at an address.
func (c *Cache) Read(address uint64, b []byte) error {
	for len(b) > 0 {
		p, err := c.page(address &^ (page - 1))
		if err != nil {
			return err
		}
		n := copy(b, p[address&(page-1):])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}

func (c *Cache) page(address uint64) (*[page]byte, error) {
	if p := c.pages[address]; p != nil {
		return p, nil
	}
	p := new([page]byte)
	if err := c.Memory.Read(address, p[:]); err != nil {
		return nil, err
	}
	if c.pages == nil || len(c.pages) >= maxPages {
		c.pages = map[uint64]*[page]byte{}
	}
	c.pages[address] = p
	return p, nil
}
