//go:build !(linux && amd64)

package holders

import (
	"context"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
)

// Copy is a copy of a process.
type Copy struct{ snapshot *snapshot.Snapshot }

// Begin returns a [snapshot.Refusal].
func Begin(pid int, _ *snapshot.Guard) (*Copy, error) {
	s, err := snapshot.Take(pid, snapshot.Options{})
	return &Copy{s}, err
}

// BeginResident returns a [snapshot.Refusal].
func BeginResident(pid int, g *snapshot.Guard) (*Copy, error) { return Begin(pid, g) }

// Close removes the copy.
func (c *Copy) Close() error { return c.snapshot.Close() }

// Ask reads the copy, and removes it.
func (c *Copy) Ask(context.Context, Question) (*answer.Look, error) { return nil, c.Close() }

// Ask returns a [snapshot.Refusal].
func Ask(ctx context.Context, pid int, q Question) (*answer.Look, error) {
	c, err := Begin(pid, q.Guard)
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, q)
}

// Resident returns a [snapshot.Refusal].
func Resident(_ context.Context, pid int, _ Options) (*rss.Result, error) {
	_, err := snapshot.Take(pid, snapshot.Options{})
	return nil, err
}
