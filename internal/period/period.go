// Package period finds the snapshots of a series that people name by a number, the time since the
// first one, or a time.
package period

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Start returns the index of the first snapshot at or after a moment. It is the number of snapshots
// if there is none.
func Start(s *series.Series, text string) (int, error) {
	index, seconds, err := parse(s, text)
	if err != nil || index >= 0 {
		return index, err
	}
	first := slices.IndexFunc(s.Clock.At,
		func(t float64) bool { return t >= seconds }) // times may descend where a process restarted
	if first < 0 {
		return len(s.Heads), nil
	}
	return first, nil
}

// End returns the index of the last snapshot at or before a moment. It is -1 if there is none.
func End(s *series.Series, text string) (int, error) {
	index, seconds, err := parse(s, text)
	if err != nil || index >= 0 {
		return index, err
	}
	for i := len(s.Clock.At) - 1; i >= 0; i-- {
		if s.Clock.At[i] <= seconds {
			return i, nil
		}
	}
	return -1, nil
}

// Time returns the time of a moment. What was allocated by a snapshot was allocated before its time.
func Time(s *series.Series, text string) (time.Time, error) {
	index, seconds, err := parse(s, text)
	if err != nil {
		return time.Time{}, err
	}
	if index >= 0 {
		return s.Moment(index)
	}
	first := slices.MinFunc(s.Clock.Times, time.Time.Compare)
	return first.Add(time.Duration(seconds * float64(time.Second))), nil
}

// parse returns the index of a snapshot, or -1 and the seconds since the first one.
func parse(s *series.Series, text string) (index int, seconds float64, err error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(s.Heads) {
			return 0, 0, fmt.Errorf("the series has snapshots 1 to %d", len(s.Heads))
		}
		return n - 1, 0, nil
	}
	if !s.Clock.Source.IsTime() {
		return 0, 0, errors.New("the times of the snapshots are not known: give the number of a snapshot")
	}
	if d, err := time.ParseDuration(text); err == nil {
		return -1, d.Seconds(), nil
	}
	t, err := parseTime(text)
	if err != nil {
		return 0, 0, err
	}
	return -1, t.Sub(slices.MinFunc(s.Clock.Times, time.Time.Compare)).Seconds(), nil
}

// parseTime reads a time in the format of RFC 3339, or as tables show it: in UTC, without a zone.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New(
		"want the number of a snapshot (5), the time since the first one (10m) or a time (2026-01-02T15:04:05Z)",
	)
}
