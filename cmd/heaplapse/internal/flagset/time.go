package flagset

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// period is a time, 0 or more.
type period struct{ to *time.Duration }

// Time returns the value of a flag for a time such as 90s, which has a default.
func Time(to *time.Duration, otherwise time.Duration) pflag.Value {
	*to = otherwise
	return period{to}
}

func (p period) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("want a time such as 90s, 10m or 1h30m")
	}
	*p.to = d
	return nil
}

func (p period) String() string {
	if p.to == nil || *p.to == 0 {
		return ""
	}
	return p.to.String()
}

// Type is that of a time in the help.
func (p period) Type() string { return "duration" }

// Interval is the value of a flag for the time between snapshots: auto, or a time. The zero value
// is auto.
type Interval struct {
	Every time.Duration
	// Fixed is set for a time, which may be 0.
	Fixed bool
	// NeverOff refuses 0. It is set before Set.
	NeverOff bool
}

// Set implements pflag.Value.
func (i *Interval) Set(s string) error {
	if s == "auto" {
		i.Every, i.Fixed = 0, false
		return nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case i.NeverOff && (err != nil || d <= 0):
		return errors.New("want auto, or a time above 0, such as 30s or 5m")
	case err != nil || d < 0:
		return errors.New("want auto, 0, or a time such as 30s or 5m")
	}
	i.Every, i.Fixed = d, true
	return nil
}

func (i *Interval) String() string {
	if i.Fixed {
		return i.Every.String()
	}
	return "auto"
}

// Type is that of a time in the help.
func (i *Interval) Type() string { return "interval" }
