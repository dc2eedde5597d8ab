//go:build linux && amd64

package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// States of the helper: enum hl_state in engine/src/attach/control.h.
const (
	stateNever = iota
	stateStarting
	stateRecording
	stateStopping
	stateStopped
	stateRefused
)

// Commands: enum hl_command.
const (
	commandSnapshot = 1
	commandStop     = 2
	commandUnmap    = 3
	commandBits     = 4
)

const (
	controlMagic   = "heaplapse-attach"
	controlVersion = 3
	reasonSize     = 256
)

// block is struct hl_control.
type block struct {
	Magic                           [16]byte
	Version, State, Command, Answer uint32
	Beat                            uint64
	Helper, Objects                 uint32
	Replaced, Foreign, Left         uint32
	Python, Ended                   uint32
	Channel, Prepared, Newest       uint32
	MallocOriginal, MallocHook      uint64
	CallocOriginal, CallocHook      uint64
	ReallocOriginal, ReallocHook    uint64
	Reason                          [reasonSize]byte
}

// Offsets in block of what is written.
const (
	offsetState   = 20
	offsetCommand = 24
	offsetBeat    = 32

	offsetPrepared = 72
	offsetNewest   = 76
)

// control is the control block of the engine in a process.
type control struct {
	memory  target.Memory
	address uint64
}

// controlOf returns the control block of a process that has the engine.
func controlOf(p *target.Process) (control, error) {
	c := control{p.Memory, p.Engine.Symbol(target.EngineSymbol).Start}
	b, err := c.read()
	if err != nil {
		return c, err
	}
	if b.Version != controlVersion {
		return c, &Refusal{
			Kind: Unsupported, Reason: fmt.Sprintf("process %d has the engine of another version of heaplapse", p.PID),
			Remedy: "use that version, or restart the process",
		}
	}
	return c, nil
}

// read reads the block. It returns ErrEnded or ErrExec if it is not there any more.
func (c control) read() (b block, err error) {
	raw := make([]byte, binary.Size(b))
	if err := c.memory.Read(c.address, raw); err != nil {
		switch {
		case errors.Is(err, unix.ESRCH):
			return b, ErrEnded
		case errors.Is(err, unix.EFAULT):
			return b, ErrExec
		}
		return b, err
	}
	if _, err := binary.Decode(raw, binary.LittleEndian, &b); err != nil {
		return b, err
	}
	if string(b.Magic[:]) != controlMagic {
		return b, ErrExec
	}
	return b, nil
}

func (c control) beat(n uint64) error { return c.memory.PutUint64(c.address+offsetBeat, n) }

// send gives the helper a command and returns its number.
func (c control) send(command uint32) (number uint32, err error) {
	b, err := c.read()
	if err != nil {
		return 0, err
	}
	number = (b.Command>>commandBits+1)<<commandBits | command
	return number, c.memory.PutUint32(c.address+offsetCommand, number)
}

// await waits until a condition holds.
func (c control) await(limit time.Duration, what string, holds func(*block) bool) (b block, err error) {
	const pause = 200 * time.Microsecond
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		if b, err = c.read(); err != nil || holds(&b) {
			return b, err
		}
		if time.Now().After(end) {
			return b, fmt.Errorf("the process did not %s within %s", what, limit)
		}
	}
}

// do gives the helper a command and waits until it has obeyed.
func (c control) do(command uint32, limit time.Duration, what string) error {
	number, err := c.send(command)
	if err != nil {
		return err
	}
	_, err = c.await(limit, what, func(b *block) bool { return b.Answer == number || !b.records() })
	return err
}

// records reports whether the helper obeys commands.
func (b *block) records() bool { return b.State == stateRecording }

// active reports whether a helper is at work.
func (b *block) active() bool {
	return b.State == stateStarting || b.State == stateRecording || b.State == stateStopping
}

func (b *block) reason() string {
	for i, c := range b.Reason {
		if c == 0 {
			return string(b.Reason[:i])
		}
	}
	return string(b.Reason[:])
}
