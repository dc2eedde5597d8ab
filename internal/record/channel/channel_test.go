//go:build linux

package channel

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// sender is a process image as the engine implements it.
type sender struct {
	memory
	head uint32
}

// connect asks a receiver for memory, as this process.
func connect(t *testing.T, r *Receiver, token string) (*sender, error) {
	t.Helper()
	return connectTo(t, "@"+r.name, token)
}

func connectTo(t *testing.T, name, token string) (*sender, error) {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: name, Net: "unixpacket"})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(token))
	require.NoError(t, err)
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), control)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("no memory: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	require.NoError(t, err)
	fds, err := unix.ParseUnixRights(&messages[0])
	require.NoError(t, err)
	f := os.NewFile(uintptr(fds[0]), "memory")
	t.Cleanup(func() { _ = f.Close() })
	return &sender{memory: memory{f}}, nil
}

// send writes a message, and publishes it.
func (s *sender) send(t *testing.T, k kind, body string) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, uint32(k))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	for len(b)%messageUnit != 0 {
		b = append(b, 0)
	}
	for _, c := range b {
		_, err := s.file.WriteAt([]byte{c}, headerSize+int64(s.head%ringSize))
		require.NoError(t, err)
		s.head++
	}
	require.NoError(t, s.putUint32(atHead, s.head))
}

func (s *sender) commit(t *testing.T, n uint64) {
	t.Helper()
	s.send(t, commit, string(binary.LittleEndian.AppendUint64(nil, n)))
}

func listen(t *testing.T) (r *Receiver, dir string) {
	t.Helper()
	dir = t.TempDir()
	r, err := Listen(filepath.Join(dir, "p"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, dir
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, strings.ReplaceAll(e.Name(), fmt.Sprint(os.Getpid()), "PID"))
	}
	return list
}

// TestFiles: a snapshot appears when it is complete. A second image of the process has files of its own,
// and its snapshots continue the numbers.
func TestFiles(t *testing.T) {
	r, dir := listen(t)
	s, err := connect(t, r, r.token)
	require.NoError(t, err)
	s.send(t, events, "first\n")
	s.send(t, begin, "")
	s.send(t, data, "heap ")
	r.Flush()
	require.Equal(t, []string{"p.PID.events.jsonl", "p_PID.0.heap.tmp"}, names(t, dir))
	s.send(t, data, strings.Repeat("x", maxMessage))
	s.commit(t, 1)
	s.send(t, begin, "")
	s.send(t, abort, "")
	s.send(t, frames, "frame\n")
	s.send(t, begin, "") // not complete when the image ends

	next, err := connect(t, r, r.token)
	require.NoError(t, err)
	next.send(t, begin, "")
	next.send(t, data, "next")
	next.commit(t, 2)
	next.send(t, events, "second\n")
	require.NoError(t, r.Close())
	require.Equal(t, []string{
		"p.PID.1.events.jsonl", "p.PID.events.jsonl", "p.PID.frames.jsonl", "p_PID.0001.heap", "p_PID.0002.heap",
	}, names(t, dir))
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p_%d.0001.heap", os.Getpid())))
	require.NoError(t, err)
	assert.Equal(t, "heap "+strings.Repeat("x", maxMessage), string(text))
	assert.True(t, r.Unfinished())
	closed, err := s.uint32(atClosed)
	require.NoError(t, err)
	assert.EqualValues(t, 1, closed)
}

// TestSocketInTheFileSystem: it works as the other one, and is removed.
func TestSocketInTheFileSystem(t *testing.T) {
	r, _ := listen(t)
	_, err := connectTo(t, r.path, r.token)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoDirExists(t, filepath.Dir(r.path))
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("long/", 30)))
	r, _ = listen(t)
	require.Empty(t, r.path)
}

// TestTheRingWraps sends more than the ring holds, in pieces of many sizes.
func TestTheRingWraps(t *testing.T) {
	r, dir := listen(t)
	s, err := connect(t, r, r.token)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	var want strings.Builder
	s.send(t, begin, "")
	for want.Len() < 3*ringSize {
		piece := strings.Repeat(fmt.Sprint(want.Len()%10), random.IntN(9000))
		want.WriteString(piece)
		s.send(t, data, piece)
		r.Flush()
	}
	s.commit(t, 7)
	require.NoError(t, r.Close())
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p_%d.0007.heap", os.Getpid())))
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(text))
}

// TestStrangers: who does not know the token gets nothing.
func TestStrangers(t *testing.T) {
	r, dir := listen(t)
	for _, token := range []string{"", strings.Repeat("0", 32), r.token + "0", strings.Repeat("0", 1<<10)} {
		_, err := connect(t, r, token)
		require.Error(t, err)
	}
	require.NoError(t, r.Close())
	assert.Empty(t, names(t, dir))
}

// TestHostileMessages: a process that sends what no engine sends spoils its own recording, and the
// error says so.
func TestHostileMessages(t *testing.T) {
	for says, send := range map[string]func(*testing.T, *sender){
		"a message of kind 9":                            func(t *testing.T, s *sender) { s.send(t, 9, "x") },
		"a number of 3 bytes":                            func(t *testing.T, s *sender) { s.send(t, commit, "abc") },
		"snapshot 0 after snapshot 0":                    func(t *testing.T, s *sender) { s.commit(t, 0) },
		"a message of 65537 bytes: at most 65536":        func(t *testing.T, s *sender) { s.send(t, data, strings.Repeat("x", maxMessage+1)) },
		fmt.Sprintf("%d bytes in a ring of", ringSize+1): func(t *testing.T, s *sender) { require.NoError(t, s.putUint32(atHead, ringSize+1)) },
		"a message of 4 bytes":                           func(t *testing.T, s *sender) { require.NoError(t, s.putUint32(atHead, 4)) },
	} {
		r, dir := listen(t)
		s, err := connect(t, r, r.token)
		require.NoError(t, err)
		send(t, s)
		r.Flush()
		s.send(t, events, "later\n")
		require.ErrorContains(t, r.Close(), says)
		assert.Empty(t, names(t, dir), says)
	}
}

// TestMemoryOfAProcess: nothing but new memory is used, because its size is changed.
func TestMemoryOfAProcess(t *testing.T) {
	r, _ := listen(t)
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	require.ErrorContains(t, r.Adopt(1, f), "not new memory")
	m, err := newMemory()
	require.NoError(t, err)
	_, err = m.file.WriteString("used")
	require.NoError(t, err)
	require.ErrorContains(t, r.Adopt(1, m.file), "not empty")
	m, err = newMemory()
	require.NoError(t, err)
	require.NoError(t, r.Adopt(os.Getpid(), m.file))
	require.ErrorIs(t, unix.Ftruncate(int(m.file.Fd()), 0), unix.EPERM)
}

// TestNamesThatAreTaken: links and pipes in a directory of somebody else are not followed. The error
// is told by the events or, if they cannot be written, by Close.
func TestNamesThatAreTaken(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for name, told := range map[string]bool{"p_%d.0.heap.tmp": true, "p_%d.0001.heap": true, "p.%d.frames.jsonl": true, "p.%d.events.jsonl": false} {
		for how, plant := range map[string]func(path string) error{
			"link": func(path string) error { return os.Symlink(victim, path) },
			"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		} {
			r, dir := listen(t)
			require.NoError(t, plant(filepath.Join(dir, fmt.Sprintf(name, os.Getpid()))))
			s, err := connect(t, r, r.token)
			require.NoError(t, err)
			s.send(t, events, "e\n")
			s.send(t, frames, "f\n")
			s.send(t, begin, "")
			s.send(t, data, "d")
			s.commit(t, 1)
			err = r.Close()
			assert.Equal(t, told, err == nil, "%s %s: %v", name, how, err)
		}
	}
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

// TestFullDisk: what does not fit is not there, and lines are whole.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=12k"); err != nil {
		t.Skipf("tmpfs cannot be mounted here: %v", err)
	}
	defer func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	r, err := Listen(filepath.Join(dir, "p"))
	require.NoError(t, err)
	s, err := connect(t, r, r.token)
	require.NoError(t, err)
	s.send(t, events, "first\n")
	s.send(t, begin, "")
	s.send(t, data, strings.Repeat("x", 60<<10))
	s.commit(t, 1)
	require.NoError(t, r.Close())
	assert.False(t, r.Unfinished())
	assert.Equal(t, []string{"p.PID.events.jsonl"}, names(t, dir))
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p.%d.events.jsonl", os.Getpid())))
	require.NoError(t, err)
	assert.Equal(t, "first\n"+`{"problem":{"kind":"write-failed","detail":"a snapshot could not be written","count":1,"errno":28}}`+"\n", string(text))
}

// FuzzRing gives a receiver memory with arbitrary contents. It ends, and writes nothing but files of
// this process.
func FuzzRing(f *testing.F) {
	f.Add(uint32(24), []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00abc\x00\x00\x00\x00\x00"))
	f.Add(uint32(16), []byte("\x03\x00\x00\x00\x08\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint32(1<<31), []byte("\x05\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, head uint32, ring []byte) {
		dir := t.TempDir()
		r, err := Open(filepath.Join(dir, "p"))
		require.NoError(t, err)
		m, err := newMemory()
		require.NoError(t, err)
		require.NoError(t, r.Adopt(os.Getpid(), m.file))
		_, err = m.file.WriteAt(ring[:min(len(ring), ringSize)], headerSize)
		require.NoError(t, err)
		require.NoError(t, m.putUint32(atHead, head))
		_ = r.Close()
		for _, name := range names(t, dir) {
			require.Regexp(t, `^p(\.PID\.(events|frames)\.jsonl|_PID\.\d{4,}\.heap)$`, name)
		}
	})
}

func (m memory) uint32(at int64) (uint32, error) {
	var b [4]byte
	_, err := m.file.ReadAt(b[:], at)
	return binary.LittleEndian.Uint32(b[:]), err
}
