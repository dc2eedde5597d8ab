//go:build linux

package program

import (
	"fmt"
	"path/filepath"
)

// containerTools are the programs that start others in containers, with what attach calls a container of theirs. A
// daemon or a monitor starts it, or it runs in other namespaces, with an environment of its own.
var containerTools = map[string]string{
	"docker": "NAME", "podman": "NAME", "runc": "NAME", "crun": "NAME", "nerdctl": "ID", "ctr": "ID", "crictl": "ID",
	"kubectl": "POD/CONTAINER, on its node",
}

// ContainerRemedy returns what to do instead of recording a program that starts others in
// containers, by the path of the program; "" for other programs.
func ContainerRemedy(exe string) string {
	name := filepath.Base(exe)
	container := containerTools[name]
	if container == "" {
		return ""
	}
	return fmt.Sprintf("%s starts programs in containers, where record does not reach them: "+
		"let the container run heaplapse record -- CMD, or record it from the host: heaplapse attach --container %s", name, container)
}
