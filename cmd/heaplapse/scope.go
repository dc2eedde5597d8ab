package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/internal/record"
)

// scopeFlags select which processes are recorded.
type scopeFlags struct{ main, all bool }

func (f *scopeFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.main, "main-only", false, "do not record workers: forks, and processes that run the same program")
	flags.BoolVar(&f.all, "follow-children", false, "also record other programs that it starts")
}

func (f *scopeFlags) value() (record.Scope, error) {
	switch {
	case f.main && f.all:
		return "", errors.New("--main-only and --follow-children exclude each other")
	case f.main:
		return record.MainOnly, nil
	case f.all:
		return record.All, nil
	}
	return record.Workers, nil
}
