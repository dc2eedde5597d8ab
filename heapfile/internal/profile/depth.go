package profile

import (
	"strconv"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// Numbers of frames that Go keeps of a stack: before version 1.23, and since then (profstackdepth).
// The calls of a function that is inlined count, too.
const (
	oldGoDepth = 32
	goDepth    = 128
)

const (
	// hiddenFrames is the most that Go leaves out at the leaf after it has truncated a stack:
	// functions of the runtime, such as mallocgc.
	hiddenFrames = 5
	// addedFrames is the most that Go adds to a truncated stack: those that were inlined into the
	// outermost frame.
	addedFrames = 4
)

// depth finds the stacks that are as deep as the producer allows.
type depth struct {
	limit   int
	inlined bool // whether inlined calls count
	deepest int
	// bytes are in use on stacks at the limit; oldBytes on those at the limit of Go before 1.23.
	bytes, oldBytes int64
}

// depthComment is the comment of a tool whose recordings heaplapse turns into profiles.
var depthComment = lazyregexp.New(`^depth limit: ([1-9][0-9]{0,4})$`)

// setDepth sets the limit: that in a comment "depth limit: N", or else the default of the producer.
// @datadog/pprof has none; 64 is what its manual passes to start.
func (p *Profile) setDepth() {
	p.depth = depth{inlined: p.Producer == Go}
	for _, c := range p.comments {
		if m := depthComment().FindSubmatch(p.bytesOf(c)); m != nil {
			p.depth.limit, _ = strconv.Atoi(string(m[1]))
			return
		}
	}
	switch p.Producer {
	case Go:
		p.depth.limit = goDepth
	case Jemalloc: // PROF_BT_MAX_DEFAULT
		p.depth.limit = 128
	case TCMalloc, Datadog: // kMaxStackDepth
		p.depth.limit = 64
	}
}

// addDepth adds a sample. The sums cannot overflow: Rows checks that of all samples.
func (p *Profile) addDepth(stack []uint32, bytes int64) {
	d, n := &p.depth, len(stack)
	if d.inlined {
		n = 0
		for _, l := range stack {
			n += max(1, int(p.locs[l].end-p.locs[l].begin))
		}
	}
	d.deepest = max(d.deepest, n)
	if limit := d.limit; limit > 0 && (n >= limit || d.inlined && n >= limit-hiddenFrames) {
		d.bytes += bytes
	}
	if n >= oldGoDepth {
		d.oldBytes += bytes
	}
}

// DepthLimit returns the number of frames that the producer keeps of a stack, 0 if it is unknown,
// and the bytes in use on stacks that are as deep, so that outer callers may be missing. It is
// called after [Profile.Rows].
//
// A profile of Go does not say which version wrote it. Since 1.24 the program has a build ID.
// Without one, a profile whose deepest stack has 32 frames is of a version before 1.23. Some of its
// truncated stacks are not counted: those without the runtime's frames at the leaf have fewer.
func (p *Profile) DepthLimit() (frames int, bytes int64) {
	d := &p.depth
	old := d.deepest >= oldGoDepth && d.deepest <= oldGoDepth+addedFrames
	if old && p.Producer == Go && d.limit == goDepth && !p.hasBuildID() {
		return oldGoDepth, d.oldBytes
	}
	return d.limit, d.bytes
}

// hasBuildID reports whether the program, the first mapping, has a build ID.
func (p *Profile) hasBuildID() bool {
	return len(p.maps) > 0 && len(p.bytesOf(uint64(p.maps[0].buildID))) > 0
}
