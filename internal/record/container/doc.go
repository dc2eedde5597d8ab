// Package container finds the processes of containers on this host. It asks no daemon: names and processes are in files
// of the runtimes (runc, crun, Docker, Podman), in the links to logs that Kubernetes makes, and in the control groups
// of processes, whose paths have the IDs of containers.
package container
