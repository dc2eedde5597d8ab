package pprofui

import (
	"os"
	"os/exec"
	"runtime"
)

// OpenBrowser opens an address on the desktop of the user, if there is one.
func OpenBrowser(address string) error {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return nil
	}
	cmd := exec.Command(name, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it reports its errors itself
	return nil
}
