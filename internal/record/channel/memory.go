//go:build linux

package channel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The layout of the memory: struct memory in engine/src/output/channel.c.
const (
	magic      = "heaplapse-ring-1"
	headerSize = 4096
	ringSize   = 256 << 10

	atSize     = 16
	atClosed   = 20
	atPID      = 24
	atImage    = 32
	atSequence = 40
	atHead     = 48
	atTail     = 52
	atLooks    = 56
	atAnswer   = 64
)

// These are the values at atLooks: enum looks in engine/src/output/channel.c.
const (
	looksNever uint32 = iota
	looksIfTold
	looksNow // the process waits
)

// kind is what a message is about: enum hl_message in engine/src/output/channel.h.
type kind uint32

const (
	begin kind = iota + 1
	data
	commit
	abort
	events
	frames
)

const (
	maxMessage  = 64 << 10 // bytes, without the head
	messageHead = 8        // the kind and the number of bytes
	messageUnit = 8        // messages begin at multiples of it
)

// memory is what a process image shares with the recorder. It is read and written by system calls
// and not mapped: whatever the process does to it, no access can fail but with an error.
type memory struct{ file *os.File }

// identity is what the recorder tells the engine.
type identity struct {
	pid, image int
	sequence   uint64 // number of the last snapshot of the process
	answer     string // shows the engine that the memory comes from the recorder
	looks      uint32
}

// newMemory creates memory for a process that has asked for it.
func newMemory() (memory, error) {
	const noexecSeal = 8 // MFD_NOEXEC_SEAL, since Linux 6.3
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("heaplapse", flags|noexecSeal)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("heaplapse", flags)
	}
	if err != nil {
		return memory{}, os.NewSyscallError("memfd_create", err)
	}
	return memory{os.NewFile(uintptr(fd), "memfd:heaplapse")}, nil
}

// check returns an error if a file of a process is not new memory. To change the size of another
// file would destroy it.
func (m memory) check() error {
	seals, err := unix.FcntlInt(m.file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&^unix.F_SEAL_EXEC != 0 {
		return errors.New("what the process shares is not new memory")
	}
	info, err := m.file.Stat()
	if err == nil && info.Size() != 0 {
		err = errors.New("what the process shares is not empty")
	}
	return err
}

// prepare gives the memory its size, which cannot be changed any more, allocates its pages, and
// writes the header.
func (m memory) prepare(id identity) error {
	fd := int(m.file.Fd())
	if err := unix.Ftruncate(fd, headerSize+ringSize); err != nil {
		return os.NewSyscallError("ftruncate", err)
	}
	if err := unix.Fallocate(fd, 0, 0, headerSize+ringSize); err != nil {
		return os.NewSyscallError("fallocate", err)
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	h := make([]byte, headerSize)
	copy(h, magic)
	binary.LittleEndian.PutUint32(h[atSize:], ringSize)
	binary.LittleEndian.PutUint64(h[atPID:], uint64(id.pid))
	binary.LittleEndian.PutUint64(h[atImage:], uint64(id.image))
	binary.LittleEndian.PutUint64(h[atSequence:], id.sequence)
	binary.LittleEndian.PutUint32(h[atLooks:], id.looks)
	copy(h[atAnswer:], id.answer)
	_, err := m.file.WriteAt(h, 0)
	return err
}

// state returns the head of the ring, and what is at atLooks.
func (m memory) state() (head, looks uint32, err error) {
	var b [atLooks + 4 - atHead]byte
	_, err = m.file.ReadAt(b[:], atHead)
	return binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[atLooks-atHead:]), err
}

func (m memory) putUint32(at int64, v uint32) error {
	_, err := m.file.WriteAt(binary.LittleEndian.AppendUint32(nil, v), at)
	return err
}

// read fills b with the bytes of the ring from position at on.
func (m memory) read(b []byte, at uint32) error {
	from := int64(at % ringSize)
	first := min(int64(len(b)), ringSize-from)
	if _, err := m.file.ReadAt(b[:first], headerSize+from); err != nil {
		return err
	}
	_, err := m.file.ReadAt(b[first:], headerSize)
	return err
}

// message reads the message at position at, before head, and returns it with the position behind
// it. The bytes are valid until the next call with the same buffer.
func (m memory) message(at, head uint32, buffer []byte) (k kind, body []byte, next uint32, err error) {
	var h [messageHead]byte
	if head-at < messageHead {
		return 0, nil, 0, fmt.Errorf("a message of %d bytes", head-at)
	}
	if err := m.read(h[:], at); err != nil {
		return 0, nil, 0, err
	}
	k, n := kind(binary.LittleEndian.Uint32(h[:])), binary.LittleEndian.Uint32(h[4:])
	if n > maxMessage {
		return 0, nil, 0, fmt.Errorf("a message of %d bytes: at most %d are possible", n, maxMessage)
	}
	whole := messageHead + (n+messageUnit-1)/messageUnit*messageUnit
	if head-at < whole {
		return 0, nil, 0, fmt.Errorf("a message of %d bytes is not complete", n)
	}
	body = buffer[:n]
	return k, body, at + whole, m.read(body, at+messageHead)
}

// duplicate returns another descriptor of the memory.
func (m memory) duplicate() (*os.File, error) {
	fd, err := unix.FcntlInt(m.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("another descriptor of the shared memory: %w", err)
	}
	return os.NewFile(uintptr(fd), m.file.Name()), nil
}

// close tells the engine that nothing is read any more, and gives the pages of the ring back.
func (m memory) close() {
	_ = m.putUint32(atClosed, 1)
	_ = unix.Fallocate(int(m.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, headerSize, ringSize)
	_ = m.file.Close()
}
