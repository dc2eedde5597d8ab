//go:build linux

package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// procInfo is what /proc says of a process.
type Info struct {
	Parent  int
	Started time.Time
	Command []string
	Exe     string
}

// readProc reads it; false when the process is gone.
func Read(pid int) (Info, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Info{}, false
	}
	parent, ticks, ok := ParseStat(stat)
	if !ok {
		return Info{}, false
	}
	p := Info{Parent: parent, Started: bootTime().Add(time.Duration(ticks) * time.Second / 100)}
	if line, err := os.ReadFile(dir + "cmdline"); err == nil && len(line) > 0 {
		p.Command = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	}
	p.Exe, _ = os.Readlink(dir + "exe")
	return p, true
}

// ParseStat reads the parent (field 4) and the start time in ticks (field 22) of /proc/PID/stat, proc(5). The name of
// field 2 may hold spaces and brackets.
func ParseStat(stat []byte) (parent int, ticks int64, ok bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(stat[i+1:])) // from field 3 on
	if len(fields) < 20 {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	ticks, err2 := strconv.ParseInt(fields[19], 10, 64)
	return parent, ticks, err1 == nil && err2 == nil
}

// bootTime is when the system started: ticks count from there (USER_HZ is 100 on all that Linux runs on here).
func bootTime() time.Time {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return time.Unix(seconds, 0)
		}
	}
	return time.Time{}
}

// Alive says whether a process is there and no zombie.
func Alive(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// Stopped says whether a process was stopped, as by ^Z.
func Stopped(pid int) bool { return stateOf(pid) == 'T' }

// stateOf is field 3 of /proc/PID/stat; 0 when the process is gone.
func stateOf(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
}

// childrenOf are the direct children of a process, of all its threads.
func Children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var out []int
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, w := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// memoryOf reads resident and proportional set sizes, in bytes, nil where unknown. smaps_rollup is there from Linux 4.14 on.
func Memory(pid int) (rss, pss *int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		fields := strings.Fields(in.Text())
		if len(fields) < 3 || fields[2] != "kB" {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		bytes := kib << 10
		switch fields[0] {
		case "Rss:":
			rss = &bytes
		case "Pss:":
			pss = &bytes
		}
	}
	return rss, pss
}

// Catches says whether a process has a handler for a signal: only then is it harmless to send it.
func Catches(pid, signal int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			return err == nil && signal > 0 && mask&(1<<(signal-1)) != 0
		}
	}
	return false
}
