package holders

import (
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options are those of [Copy.Look].
type Options struct {
	// MaxBytes limits the memory of the graph; 0 means 1 GiB.
	MaxBytes uint64
	// Symbols locate files.
	Symbols symbolize.Options
	// Guard removes the copy if heaplapse is killed. It is used where the copy is made; it may be nil.
	Guard *snapshot.Guard
}

// Question is what Ask is asked.
type Question struct {
	Options
	// Groups is the number of groups of blocks that are looked at, those with most memory.
	Groups int
	// Sites asks about the live samples of heaplapse's engine. Image is the number of the process image, which the
	// addresses of functions of scripts contain.
	Sites bool
	Image int
	// Half is the number of the newest sample when half of the recording had passed; 0: half of the samples count
	// instead.
	Half uint32
}
