package flagset

import (
	"errors"
	"fmt"
	"strconv"
)

// PIDOf returns the number of a process, or 0 for a container, as the arguments of a command name one of them.
func PIDOf(args []string, container string) (pid int, err error) {
	if len(args) > 1 {
		return 0, errors.New("attach takes one process, and records its workers with it: " +
			"pgrep -o NAME prints the first one of a program")
	}
	if (len(args) == 0) == (container == "") {
		return 0, errors.New("name one process or container: heaplapse attach PID, or heaplapse attach --container NAME")
	}
	if len(args) == 0 {
		return 0, nil
	}
	return PID(args[0])
}

// PID returns the number of a process that an argument is.
func PID(arg string) (int, error) {
	pid, err := strconv.Atoi(arg)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%q is not the number of a process: pgrep NAME prints those of a program", arg)
	}
	return pid, nil
}
