//go:build linux && amd64

package record

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// heldProgram builds testdata/held.c.
func heldProgram(t *testing.T) string {
	t.Helper()
	testutil.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "held")
	out, err := exec.Command("gcc", "-O1", "-g", "-o", program, "testdata/held.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// recordHeld records the program, and looks at it all the time.
func recordHeld(t *testing.T, o Options) (Outcome, []*answer.Look) {
	t.Helper()
	o.Dir, o.Every, o.SamplePeriod, o.Engine = t.TempDir(), 100*time.Millisecond, 4<<10, "builtin"
	p, err := Prepare(o)
	require.NoError(t, err)
	outcome, err := p.Run(t.Context())
	require.NoError(t, err)
	m, err := manifest.Load(o.Dir)
	require.NoError(t, err)
	require.NotEmpty(t, m.Ends)
	if outcome.Signal == 0 && !o.NoHolders { // it ran its exit handlers
		assert.False(t, m.Ends[0].Leaving.IsZero() || m.Ends[0].Leaving.After(m.Ends[0].Time), "%v", m.Ends)
	}
	files, err := filepath.Glob(filepath.Join(o.Dir, "*"+manifest.HoldersSuffix))
	require.NoError(t, err)
	var looks []*answer.Look
	for _, f := range files {
		in, err := os.Open(f)
		require.NoError(t, err)
		defer in.Close()
		found, err := answer.Read(in, f)
		require.NoError(t, err)
		looks = append(looks, found...)
	}
	return outcome, looks
}

// TestLooksAtTheEnd: what is looked at before the program is ended tells the kept blocks from the lost ones.
func TestLooksAtTheEnd(t *testing.T) {
	outcome, look := lookedAtTheEnd(t, Options{
		Command: []string{heldProgram(t), "1000000"}, Duration: 2 * time.Second,
	}, allLooked)
	assert.Equal(t, int(syscall.SIGTERM), outcome.Signal)
	assertHeld(t, []*answer.Look{look})
}

// allLooked reports whether blocks of every site were looked at.
func allLooked(l *answer.Look) bool {
	return len(l.Sites) > 0 && !slices.ContainsFunc(l.Sites, func(s answer.Site) bool { return s.Looked == 0 })
}

// TestLooksBeforeExitHandlers: a program that ends by itself is looked at before its exit handlers have freed what it kept.
func TestLooksBeforeExitHandlers(t *testing.T) {
	testutil.NoRace(t) // a look takes longer than the program waits
	program := heldProgram(t)
	for name, arguments := range map[string][]string{"return of main": {"500"}, "exit": {"500", "exit"}} {
		t.Run(name, func(t *testing.T) {
			command := append([]string{program}, arguments...)
			outcome, look := lookedAtTheEnd(t, Options{Command: command}, allLooked)
			assert.Equal(t, 7, outcome.Status)
			assert.Empty(t, outcome.Notes)
			assertHeld(t, []*answer.Look{look})
		})
	}
}

// lookedAtTheEnd records a program that is looked at only when it ends. On a busy machine, a look may take longer than
// the program or its end waits, and most of the time may pass before the program works: then it runs again.
func lookedAtTheEnd(t *testing.T, o Options, enough func(*answer.Look) bool) (Outcome, *answer.Look) {
	t.Helper()
	o.HoldersEvery = time.Hour
	for range 20 {
		outcome, looks := recordHeld(t, o)
		if len(looks) > 0 && enough(looks[0]) {
			require.Len(t, looks, 1)
			return outcome, looks[0]
		}
	}
	require.Fail(t, "the program was not looked at")
	return Outcome{}, nil
}

// TestLooksAtRuby: Ruby unmaps its objects before the program exits. What they held is not lost.
func TestLooksAtRuby(t *testing.T) {
	testutil.NoRace(t)
	ruby := testutil.Need(t, "ruby")
	const program = `kept = []; 3000.times { kept << "x" * 5000; sleep 0.001 }`
	most := func(l *answer.Look) answer.Site {
		return slices.MaxFunc(l.Sites, func(a, b answer.Site) int { return cmp.Compare(a.Live, b.Live) })
	}
	outcome, look := lookedAtTheEnd(t, Options{Command: []string{ruby, "-e", program}}, func(l *answer.Look) bool {
		return len(l.Sites) > 0 && most(l).Live > 1000 && most(l).Looked > 0
	})
	assert.Zero(t, outcome.Status)
	require.NotEmpty(t, most(look).By)
	assert.Equal(t, answer.Unknown, most(look).By[0].Kind, "memory whose content is not understood")
	for _, s := range look.Sites {
		for _, by := range s.By {
			assert.NotEqual(t, answer.Lost, by.Kind, "%v", s)
		}
	}
}

// TestLooksWhileLooking: a program that ends while it is looked at is looked at again.
func TestLooksWhileLooking(t *testing.T) {
	testutil.NoRace(t)
	program := heldProgram(t)
	const rounds, blocks = "500", 500 * 40
	var last int64
	for range 10 { // on a busy machine, a look may take longer than the program waits
		_, looks := recordHeld(t, Options{Command: []string{program, rounds}, HoldersEvery: time.Millisecond})
		for _, l := range looks {
			last = l.Blocks
		}
		if last >= blocks {
			return
		}
	}
	assert.Fail(t, "the look at the end does not count", "%d of %d blocks", last, blocks)
}

// TestLooksLeaveNoOrphans: what reaps orphans has no child that it does not know when the program has ended.
func TestLooksLeaveNoOrphans(t *testing.T) {
	testutil.NoRace(t)
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) }()
	program := heldProgram(t)
	for _, every := range []time.Duration{time.Hour, time.Millisecond} {
		left := true
		for range 10 { // on a busy machine, a look may take longer than the program waits
			recordHeld(t, Options{Command: []string{program, "500"}, HoldersEvery: every})
			if left = reapAll(); !left {
				break
			}
		}
		assert.False(t, left, "%s", every)
	}
}

// reapAll waits for all children that have ended, and reports whether there was one.
func reapAll() (found bool) {
	for {
		if n, _ := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil); n <= 0 {
			return found
		}
		found = true
	}
}

func assertHeld(t *testing.T, looks []*answer.Look) {
	t.Helper()
	require.Len(t, looks, 1)
	assert.Equal(t, "held", looks[0].Program)
	assert.Empty(t, looks[0].Doubts)
	seen := map[answer.Kind]answer.Holder{}
	for _, s := range looks[0].Sites {
		require.NotEmpty(t, s.By)
		assert.GreaterOrEqual(t, s.By[0].Blocks, s.Looked-1, "%v", s.By) // the newest may still be on the stack
		seen[s.By[0].Kind] = s.By[0]
	}
	require.Contains(t, seen, answer.Lost)
	require.Contains(t, seen, answer.Global)
	kept := seen[answer.Global]
	assert.Equal(t, "kept_blocks", kept.Name)
	assert.Equal(t, "held.c", filepath.Base(kept.File))
}

// TestLooksDoNoHarm: a program that is looked at all the time sees only its own children, and record tells how it has
// ended.
func TestLooksDoNoHarm(t *testing.T) {
	program := heldProgram(t)
	outcome, looks := recordHeld(t, Options{Command: []string{program, "1500"}, HoldersEvery: time.Millisecond})
	assert.Zero(t, outcome.Signal)
	assert.Equal(t, 7, outcome.Status)
	assert.Equal(t, 1, outcome.Processes)
	assert.Empty(t, outcome.Notes)
	assert.NotEmpty(t, looks)

	outcome, looks = recordHeld(t, Options{Command: []string{program}, HoldersEvery: time.Millisecond})
	assert.Equal(t, int(syscall.SIGKILL), outcome.Signal)
	assert.Empty(t, outcome.Notes)
	assert.NotEmpty(t, looks)
}

// TestNoLooks turns them off.
func TestNoLooks(t *testing.T) {
	outcome, looks := recordHeld(t, Options{
		Command: []string{heldProgram(t), "300"}, HoldersEvery: time.Millisecond, NoHolders: true,
	})
	assert.Equal(t, 7, outcome.Status)
	assert.Empty(t, looks)
}
