// Package config reads the gate's configuration, heaplapse.yaml: thresholds, those of single sites, and suppressions.
// docs/heaplapse.yaml is an example with every key.
//
// Reading is strict: a key that is not known, that is there twice, or that has a value of the wrong kind is an error with its line, because a
// threshold that is misspelt would silently not hold.
package config
