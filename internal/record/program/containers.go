//go:build linux

package program

import (
	"fmt"
	"path/filepath"
)

// containerTools are the programs that start others in containers, with how to get the process
// number of a container's program on the host. A daemon or a monitor starts it, or it runs in other
// namespaces, with an environment of its own.
var containerTools = map[string]string{
	"docker":  "$(docker inspect -f '{{.State.Pid}}' NAME)",
	"podman":  "$(podman inspect -f '{{.State.Pid}}' NAME)",
	"nerdctl": "$(nerdctl inspect -f '{{.State.Pid}}' NAME)",
	"runc":    "PID, where runc state NAME prints the PID",
	"crun":    "PID, where crun state NAME prints the PID",
	"ctr":     "PID, where ctr task ls prints the PID",
	"crictl":  "PID, where crictl inspect ID prints the pid",
	"kubectl": "PID on its node",
}

// ContainerRemedy returns what to do instead of recording a program that starts others in
// containers, by the path of the program; "" for other programs.
func ContainerRemedy(exe string) string {
	name := filepath.Base(exe)
	pid := containerTools[name]
	if pid == "" {
		return ""
	}
	return fmt.Sprintf("%s starts programs in containers, where record does not reach them: "+
		"let the container run heaplapse record -- CMD, or record it from the host: heaplapse attach %s", name, pid)
}
