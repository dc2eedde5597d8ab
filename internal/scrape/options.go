package scrape

import (
	"errors"
	"fmt"
	"time"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/request"
)

// Options tell what is taken, how often and where to. URLs is required.
type Options struct {
	// URLs are the addresses of services, http://HOST:PORT, or of single profiles.
	URLs []string
	// Dir is the directory of the snapshots. It is created if it does not exist, and must not hold
	// a recording. If it is "", a new directory is created in the working directory.
	Dir string

	// Every is the time between snapshots. 0 chooses it by Duration and by the time so far.
	Every time.Duration
	// Duration is the time from the first snapshot to the last. 0 means until the context ends.
	Duration time.Duration
	// Wait is the time in which a service must answer for the first time.
	Wait time.Duration
	// Keep is the maximum number of snapshots of each kind. 0 means no limit.
	Keep int

	// NoGC leaves out the garbage collection that a Go service is asked for before each snapshot,
	// and NoGoroutines its goroutine profiles.
	NoGC, NoGoroutines bool

	// Options are those of the requests.
	request.Options
	// MaxSize limits a profile, in bytes.
	MaxSize int64

	// Check, if not nil, is called while a profile is read. Its error ends the reading.
	Check func(more int64) error
	// Recorder is the name and version of this program, for the manifest.
	Recorder string
	// Began is called when the directory has its first snapshot. It may be nil.
	Began func(dir string)
	// Note is called with each message for the user, a single line. It may be nil. Calls do not
	// overlap.
	Note func(text string)
}

// MinEvery is the shortest time between snapshots.
const MinEvery = 10 * time.Millisecond

var errTooFew = errors.New("growth needs at least 6 snapshots")

func (o *Options) check() error {
	switch {
	case len(o.URLs) == 0:
		return errors.New("no URL given")
	case o.Every < 0 || o.Duration < 0 || o.Wait < 0 || o.Keep < 0:
		return errors.New("times and numbers must not be negative")
	case o.Every > 0 && o.Every < MinEvery:
		return fmt.Errorf("%s %s: the minimum is %s", option.Every, o.Every, MinEvery)
	case o.Keep == 1 || o.Keep == 2:
		return fmt.Errorf("%s %d: %w", option.Keep, o.Keep, errTooFew)
	}
	return o.Options.Check()
}
