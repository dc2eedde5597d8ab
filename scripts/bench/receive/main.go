//go:build linux

// Receive receives what the built-in engine sends, for measurements without record. It prints the
// settings with which a program finds it, and ends when its standard input does.
// Usage: receive PREFIX
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/heaplapse/heaplapse/internal/record/channel"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "receive:", err)
		os.Exit(1)
	}
}

func run() error {
	r, err := channel.Listen(os.Args[1])
	if err != nil {
		return err
	}
	fmt.Println(r.Settings())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return r.Close()
}
