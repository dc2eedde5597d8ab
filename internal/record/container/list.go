//go:build linux

package container

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// Container is a container that runs.
type Container struct {
	ID    string
	Names []string // others than ID
	// Init is the process with which it began.
	Init int
}

// host is where this machine's files are; "" but in tests.
type host struct{ root string }

// list returns the containers that run, by ID.
func (h host) list() []Container {
	found := map[string]*Container{}
	get := func(id string) *Container {
		if found[id] == nil {
			found[id] = &Container{ID: id}
		}
		return found[id]
	}
	for id, pid := range h.states() {
		get(id).Init = pid
	}
	for id, pid := range h.groups() {
		c := get(id)
		c.Init = cmp.Or(c.Init, pid)
	}
	for _, n := range slices.Concat(h.docker(), h.podman(), h.kubernetes()) {
		c := get(n.id)
		c.Names = append(c.Names, n.names...)
		c.Init = cmp.Or(c.Init, n.pid)
	}
	var all []Container
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if c := found[id]; c.Init > 0 && proc.Alive(c.Init) {
			slices.Sort(c.Names)
			c.Names = slices.Compact(c.Names)
			all = append(all, *c)
		}
	}
	return all
}

// named is what a runtime knows of a container.
type named struct {
	id    string
	names []string
	pid   int // 0 if it is not known
}

// most limits the size of a file of a runtime.
const most = 4 << 20

// read decodes a file. A file that cannot be read tells nothing.
func read(path string, v any) bool {
	f, info, err := infile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info.Size() > most {
		return false
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	return err == nil && json.Unmarshal(b, v) == nil
}

func (h host) glob(pattern string) []string {
	list, _ := filepath.Glob(h.root + pattern)
	return list
}

// states returns the processes of the containers of runc and crun, by ID. A state may be left of a container that has
// ended: runc's tells when its process started.
func (h host) states() map[string]int {
	pids := map[string]int{}
	for _, pattern := range []string{
		"/run/runc/*/state.json", "/run/containerd/runc/*/*/state.json", "/run/docker/runtime-runc/*/*/state.json",
		"/run/user/*/runc/*/state.json",
	} {
		for _, path := range h.glob(pattern) {
			var s struct {
				ID      string `json:"id"`
				PID     int    `json:"init_process_pid"`
				Started uint64 `json:"init_process_start"` // ticks since the boot
			}
			if read(path, &s) && s.ID != "" && ticks(s.PID) == s.Started {
				pids[s.ID] = s.PID
			}
		}
	}
	for _, pattern := range []string{"/run/crun/*/status", "/run/user/*/crun/*/status"} {
		for _, path := range h.glob(pattern) {
			var s struct {
				PID     int    `json:"pid"`
				Started uint64 `json:"process-start-time"`
			}
			if read(path, &s) && ticks(s.PID) == s.Started {
				pids[filepath.Base(filepath.Dir(path))] = s.PID
			}
		}
	}
	return pids
}

// ticks returns the time at which a process started, in ticks since the boot, or 0.
func ticks(pid int) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, started, _ := proc.ParseStat(b)
	return uint64(max(0, started))
}

// idInGroup matches the ID of a container in the path of a control group, as all runtimes write it.
var idInGroup = regexp.MustCompile(`(?m)[/:.-]([0-9a-f]{64})(?:\.scope)?(?:/|$)`)

// groups returns the oldest process of each container, by the ID in the control groups of processes.
func (h host) groups() map[string]int {
	pids, started := map[string]int{}, map[string]uint64{}
	for _, path := range h.glob("/proc/[0-9]*/cgroup") {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		m := idInGroup.FindSubmatch(b)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if m == nil || err != nil {
			continue
		}
		id, at := string(m[1]), ticks(pid)
		if old := pids[id]; old == 0 || at < started[id] || at == started[id] && pid < old {
			pids[id], started[id] = pid, at
		}
	}
	return pids
}

// docker returns the containers of Docker.
func (h host) docker() (list []named) {
	for _, path := range h.glob("/var/lib/docker/containers/*/config.v2.json") {
		var c struct {
			ID, Name string
			State    struct {
				Running bool
				Pid     int
			}
		}
		if read(path, &c) && c.ID != "" && c.State.Running {
			list = append(list, named{c.ID, []string{strings.TrimPrefix(c.Name, "/")}, c.State.Pid})
		}
	}
	return list
}

// podman returns the containers of Podman and CRI-O, of root and of users.
func (h host) podman() (list []named) {
	for _, pattern := range []string{
		"/var/lib/containers/storage/*-containers/containers.json",
		"/home/*/.local/share/containers/storage/*-containers/containers.json",
	} {
		for _, path := range h.glob(pattern) {
			var all []struct {
				ID    string   `json:"id"`
				Names []string `json:"names"`
			}
			if read(path, &all) {
				for _, c := range all {
					list = append(list, named{c.ID, c.Names, 0})
				}
			}
		}
	}
	return list
}

// logOf matches the name of a log of Kubernetes: POD_NAMESPACE_CONTAINER-ID.log.
var logOf = regexp.MustCompile(`^([^_]+)_([^_]+)_(.+)-([0-9a-f]{64})\.log$`)

// kubernetes returns the containers of pods. Each has the names of its pod and of the container, as kubectl tells them.
func (h host) kubernetes() (list []named) {
	for _, path := range h.glob("/var/log/containers/*.log") {
		if m := logOf.FindStringSubmatch(filepath.Base(path)); m != nil {
			pod, space, name := m[1], m[2], m[3]
			list = append(list, named{m[4], []string{name, pod, pod + "/" + name, space + "/" + pod + "/" + name}, 0})
		}
	}
	return list
}
