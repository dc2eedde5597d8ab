package main

import "github.com/heaplapse/heaplapse/diff/gate/config"

// parseSize reads a size as the gate's configuration does: 4096, 512KiB, 1.5MB.
func parseSize(text string) (int64, error) { return config.ParseSize(text) }
