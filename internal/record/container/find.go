//go:build linux

package container

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// Program returns the process that runs the program of a container, by the name of the container, its ID, or the first
// four or more digits of that. If it began with a program that only starts another one, such as tini or a shell, the
// result is the process of the other one.
func Program(name string) (pid int, err error) { return host{}.program(name) }

func (h host) program(name string) (int, error) {
	c, err := h.find(name)
	if err != nil {
		return 0, err
	}
	list := programs(c.Init)
	switch len(list) {
	case 0:
		return c.Init, nil
	case 1:
		return list[0], nil
	}
	var each []string
	for _, pid := range list {
		info, _ := proc.Read(pid)
		each = append(each, fmt.Sprintf("%d (%s)", pid, filepath.Base(info.Exe)))
	}
	return 0, fmt.Errorf("container %s runs several programs: attach to one of them by its PID: %s", name,
		strings.Join(each, ", "))
}

func (h host) find(name string) (Container, error) {
	all := h.list()
	const leastDigits = 4
	for _, matches := range []func(c *Container) bool{
		func(c *Container) bool { return c.ID == name || slices.Contains(c.Names, name) },
		func(c *Container) bool { return len(name) >= leastDigits && strings.HasPrefix(c.ID, name) },
	} {
		var found []Container
		for i := range all {
			if matches(&all[i]) {
				found = append(found, all[i])
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return Container{}, fmt.Errorf("%d containers are called %s: name one of %s", len(found), name, titles(found))
	}
	if len(all) == 0 {
		return Container{}, fmt.Errorf("no container %s: none was found on this host; "+
			"its processes have PIDs here, too: pgrep NAME", name)
	}
	return Container{}, fmt.Errorf("no container %s: those that run are %s", name, titles(all))
}

// titles lists containers, by their longest names and the first digits of their IDs.
func titles(list []Container) string {
	const shown, digits = 8, 12
	var out []string
	for i := range list {
		if i == shown {
			out = append(out, "…")
			break
		}
		c := &list[i]
		title := c.ID[:min(digits, len(c.ID))]
		if len(c.Names) > 0 {
			longest := slices.MaxFunc(c.Names, func(a, b string) int { return len(a) - len(b) })
			title += " (" + longest + ")"
		}
		out = append(out, title)
	}
	return strings.Join(out, ", ")
}

// inits are programs that only start others in a container, and wait for them, besides program.Wrappers.
var inits = []string{
	"tini-static", "docker-init", "pause", "podman-init", "s6-svscan", "s6-supervise", "runsvdir", "runsv", "runit",
	"my_init",
}

// programs returns the processes that run the programs of a container: init or, if it only starts others, those below
// it. Of processes that run the same program, it is the first.
func programs(init int) (list []int) {
	for level := []int{init}; len(level) > 0 && len(list) == 0; {
		var below []int
		for _, pid := range level {
			info, ok := proc.Read(pid)
			switch {
			case !ok || info.Exe == "":
			case program.IsWrapper(info.Exe) || slices.Contains(inits, filepath.Base(info.Exe)):
				below = append(below, proc.Children(pid)...)
			case !slices.ContainsFunc(list, func(other int) bool { return proc.SameProgram(pid, other) }):
				list = append(list, pid)
			}
		}
		level = below
	}
	return list
}
