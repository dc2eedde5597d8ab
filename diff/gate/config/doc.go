// Package config reads the gate's configuration, heaplapse.yaml: thresholds, those of single
// functions, and suppressions. docs/heaplapse.yaml is an example with every key.
//
// Reading is strict, because a misspelt threshold would silently have no effect: a
// key that is unknown, occurs twice or has no value, and a value of the wrong kind are
// errors with their line. A file has at most 1 MiB and no aliases.
package config
