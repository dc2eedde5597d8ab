// Package config reads heaplapse.yaml. It has the configuration of the gate: thresholds, those of
// single functions, and suppressions; and sections of the caller, which are keys and values.
// docs/heaplapse.yaml is an example with every key of the gate.
//
// Reading is strict, because a misspelt threshold would silently have no effect: a
// key that is unknown, occurs twice or has no value, and a value of the wrong kind are
// errors with their line. A file has at most 1 MiB and no aliases.
package config
