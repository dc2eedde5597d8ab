//go:build linux

package channel

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// Receiver receives from the processes of a recording.
type Receiver struct {
	dir directory
	// The name of the socket; what a process must say, and what it expects. Every user can see the
	// name, and could use it after this receiver.
	name, token, answer string
	listeners           []*net.UnixListener
	path                string // of the second socket, or ""
	removePath          func()
	stop, done          chan struct{}
	once                sync.Once
	connections         sync.WaitGroup
	mu                  sync.Mutex // protects what follows, and the files
	stopped             bool
	images              map[int]*image // the last one of each process
	numbers             map[int]int    // of process images, by process
	sequences           map[int]uint64 // of snapshots, by process
	errs                []error
	notWritten          error // the first one
	buffer              [maxMessage]byte
	sinceLooking        int           // rounds
	leaving             func(pid int) // of Leaving, or nil
	unfinished          bool          // a process has ended while a snapshot was being written
}

// image is a process image that has a channel.
type image struct {
	memory
	*files
	tail uint32
	bad  bool // it has sent something malformed, and is not read any more
	left bool // Leaving is called for it
}

const (
	// idle is the time between two looks at the memory of all processes, busy that while there was
	// something.
	idle, busy = 50 * time.Millisecond, time.Millisecond
	// lookEvery is the number of looks after which processes that have ended are dropped.
	lookEvery = 50
	// answerWithin is the time that a process has to send what it was told.
	answerWithin = 2 * time.Second
	// maxImages is the number of processes that are recorded at once, and maxConnections that of
	// processes that are connecting.
	maxImages, maxConnections = 16 << 10, 256
)

// Listen returns a receiver for processes that are started with its settings. It writes files whose
// names begin with the path prefix; the directory must exist.
func Listen(prefix string) (*Receiver, error) {
	r, err := Open(prefix)
	if err != nil {
		return nil, err
	}
	r.name, r.token, r.answer = "heaplapse-"+random(), random(), random()
	if err := r.listen("@" + r.name); err != nil {
		return nil, errors.Join(fmt.Errorf("no socket for the recording: %w", err), r.Close())
	}
	r.listenInTemp()
	for _, l := range r.listeners {
		r.connections.Go(func() { r.accept(l) })
	}
	return r, nil
}

func (r *Receiver) listen(name string) error {
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: name, Net: "unixpacket"})
	if err == nil {
		r.listeners = append(r.listeners, l)
	}
	return err
}

// listenInTemp adds a socket in the file system, which a program in another network namespace can
// reach. There is none if that is not possible.
func (r *Receiver) listenInTemp() {
	const maxPath = 107 // struct sockaddr_un
	dir, remove, err := atomicfile.TempDir()
	if err != nil {
		return
	}
	path := filepath.Join(dir, "socket")
	if len(path) > maxPath || strings.ContainsAny(path, " ") || r.listen(path) != nil {
		remove()
		return
	}
	r.path, r.removePath = path, remove
	// Every user may connect, and only who knows the token gets something.
	_ = errors.Join(os.Chmod(path, 0o666), os.Chmod(dir, 0o711))
}

// Open returns a receiver for processes that are given to Adopt.
func Open(prefix string) (*Receiver, error) {
	d, err := openDirectory(prefix)
	if err != nil {
		return nil, err
	}
	r := &Receiver{
		dir: d, stop: make(chan struct{}), done: make(chan struct{}),
		images: map[int]*image{}, numbers: map[int]int{}, sequences: map[int]uint64{},
	}
	go r.run()
	return r, nil
}

func random() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}

// Settings returns the settings of the engine with which a process finds the receiver.
func (r *Receiver) Settings() string {
	s := fmt.Sprintf("socket=%s token=%s answer=%s", r.name, r.token, r.answer)
	if r.path != "" {
		s += " path=" + r.path
	}
	return s
}

// Leaving sets a function that is called when a process that has connected since is about to run its exit handlers. The
// process waits until the function returns, but no longer than 2 s.
func (r *Receiver) Leaving(f func(pid int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving = f
}

// Half returns the number of the newest sample of a process when half of the time since its first snapshot had passed,
// or 0 if that is not known.
func (r *Receiver) Half(pid int) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.images[pid]; i != nil {
		return i.half()
	}
	return 0
}

// --- processes that were started ---

func (r *Receiver) accept(l *net.UnixListener) {
	slots := make(chan struct{}, maxConnections)
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no file descriptor is left, for instance
			time.Sleep(idle)
			continue
		}
		slots <- struct{}{}
		r.connections.Go(func() {
			defer func() { <-slots }()
			_ = c.SetDeadline(time.Now().Add(answerWithin))
			if err := errors.Join(r.give(c), c.Close()); err != nil {
				r.report(err)
			}
		})
	}
}

// give gives memory to a process that knows the token.
func (r *Receiver) give(c *net.UnixConn) error {
	b := make([]byte, len(r.token)+1)
	n, err := c.Read(b)
	if err != nil || string(b[:n]) != r.token {
		return nil //nolint:nilerr // somebody else, or a process that has ended
	}
	pid, err := peer(c)
	if err != nil {
		return err
	}
	m, err := newMemory()
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	// When the memory is added, it may be closed at once: the process may have ended.
	given, err := m.duplicate()
	if err != nil {
		return errors.Join(fmt.Errorf("process %d: %w", pid, err), m.file.Close())
	}
	defer given.Close()
	if err := r.add(pid, m); err != nil {
		return err
	}
	_, _, err = c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(given.Fd())), nil)
	return err
}

// peer returns the number of the process at the other side.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// Adopt receives from a process that has made the memory itself, which f is. It closes f, now or
// later.
func (r *Receiver) Adopt(pid int, f *os.File) error {
	m := memory{f}
	if err := m.check(); err != nil {
		_ = f.Close()
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return r.add(pid, m)
}

// add receives from a new process image. What the one before has sent is read first: its snapshots
// have lower numbers.
func (r *Receiver) add(pid int, m memory) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || len(r.images) >= maxImages {
		_ = m.file.Close()
		return fmt.Errorf("process %d is not recorded: more than %d processes", pid, maxImages)
	}
	r.end(pid)
	id := identity{pid: pid, image: r.numbers[pid], sequence: r.sequences[pid], answer: r.answer}
	if r.leaving != nil {
		id.looks = looksIfTold
	}
	if err := m.prepare(id); err != nil {
		_ = m.file.Close()
		return fmt.Errorf("process %d: %w", pid, err)
	}
	r.numbers[pid]++
	r.images[pid] = &image{memory: m, files: newFiles(r.dir, id)}
	return nil
}

// --- reading ---

func (r *Receiver) run() {
	defer close(r.done)
	for pause := idle; ; {
		select {
		case <-r.stop:
			return
		case <-time.After(pause):
		}
		if pause = idle; r.look() {
			pause = busy
		}
	}
}

// look reads what there is, and reports whether there was something.
func (r *Receiver) look() (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.images {
		found = r.drain(i) || found
	}
	if r.sinceLooking++; r.sinceLooking >= lookEvery {
		r.sinceLooking = 0
		for pid := range r.images {
			if !proc.Alive(pid) {
				r.end(pid)
			}
		}
	}
	return found
}

// drain reads what a process image has sent, and reports whether it had sent something.
func (r *Receiver) drain(i *image) bool {
	if i.bad {
		return false
	}
	found, err := r.readAll(i)
	if err != nil {
		i.bad = true
		r.errs = append(r.errs, fmt.Errorf("process %d has spoiled its recording: %w", i.pid, err))
	}
	return found
}

func (r *Receiver) readAll(i *image) (found bool, err error) {
	head, looks, err := i.state()
	if err != nil {
		return false, err
	}
	if looks == looksNow && r.leaving != nil && !i.left {
		i.left = true
		go r.leave(i)
	}
	if head-i.tail > ringSize {
		return false, fmt.Errorf("%d bytes in a ring of %d", head-i.tail, ringSize)
	}
	for i.tail != head {
		k, body, next, err := i.message(i.tail, head, r.buffer[:])
		if err == nil {
			err = i.apply(k, body)
		}
		if err != nil {
			return found, err
		}
		i.tail, found = next, true
		if err := i.putUint32(atTail, i.tail); err != nil {
			return found, err
		}
	}
	return found, nil
}

// leave calls Leaving's function, and lets the process run on, which may tell again that it leaves.
func (r *Receiver) leave(i *image) {
	r.leaving(i.pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	i.left = false
	_ = i.putUint32(atLooks, looksIfTold) // the process may have ended
}

// end reads the rest from a process image that has ended, if there is one, and forgets it.
func (r *Receiver) end(pid int) {
	i := r.images[pid]
	if i == nil {
		return
	}
	r.drain(i)
	i.memory.close()
	r.unfinished = r.unfinished || i.snapshot != nil
	if r.notWritten == nil {
		r.notWritten = i.failed.err
	}
	if err := i.files.close(); err != nil {
		r.errs = append(r.errs, err)
	}
	r.sequences[pid] = i.sequence
	delete(r.images, pid)
}

func (r *Receiver) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// NotWritten returns the first error of a file, if there was one, whether or not the events tell
// it. It is called after Close.
func (r *Receiver) NotWritten() error { return r.notWritten }

// Unfinished reports whether a process has ended while a snapshot was being written, which is missing. It is called
// after Close.
func (r *Receiver) Unfinished() bool { return r.unfinished }

// Flush reads what all processes have sent so far.
func (r *Receiver) Flush() { r.look() }

// Close reads the rest, ends all files, and tells processes that run on that the recording is over.
// It returns what could not be recorded and is not told by the events.
// It may be called again.
func (r *Receiver) Close() error {
	r.once.Do(r.close)
	return errors.Join(r.errs...)
}

func (r *Receiver) close() {
	for _, l := range r.listeners {
		_ = l.Close() // it removes the socket
	}
	if r.path != "" {
		r.removePath()
	}
	r.connections.Wait()
	close(r.stop)
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for pid := range r.images {
		r.end(pid)
	}
	_ = r.dir.root.Close()
}
