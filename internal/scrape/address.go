package scrape

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/request"
)

// Kinds of profiles. The names of their files begin with them.
const (
	heap       = "heap"
	goroutines = "goroutine"
)

// goPath is where package net/http/pprof serves profiles.
const goPath = "debug/pprof"

// service is a URL of the user: all profiles of one process.
type service struct {
	url      *url.URL // of the user, for messages and the manifest
	name     string   // begins the names of its files; "" if there is one service
	profiles []*profile
}

// parseServices returns the services at some URLs.
func parseServices(o *Options) ([]*service, error) {
	var out []*service
	names := map[string]bool{}
	for _, text := range o.URLs {
		s, err := parseService(text, o)
		if err != nil {
			return nil, err
		}
		if len(o.URLs) > 1 {
			base := outdir.Name(s.url.Host, "service")
			s.name = base
			for n := 2; names[s.name]; n++ {
				s.name = fmt.Sprintf("%s-%d", base, n)
			}
			names[s.name] = true
		}
		out = append(out, s)
	}
	return out, nil
}

var (
	errText  = errors.New("debug=1 and debug=2 ask for text: leave debug out of the URL")
	errDelta = errors.New("seconds=N asks for what changes within N seconds: leave it out of the URL, for snapshots of all that is in use")
)

// parseService returns the service at a URL.
func parseService(text string, o *Options) (*service, error) {
	u, err := request.ParseURL(text)
	if err != nil {
		return nil, err
	}
	s := &service{url: u}
	path := strings.TrimSuffix(u.Path, "/")
	root := strings.TrimSuffix(path, "/"+goPath)
	if root != "" && root == path {
		s.profiles = []*profile{{url: u}}
		return s, checkQuery(u)
	}
	base := *u
	base.Path, base.RawPath = root+"/", ""
	of := base.JoinPath(goPath, heap)
	if !o.NoGC {
		q := of.Query()
		q.Set("gc", "1")
		of.RawQuery = q.Encode()
	}
	s.profiles = []*profile{{url: of, kind: heap}}
	if !o.NoGoroutines {
		s.profiles = append(s.profiles, &profile{url: base.JoinPath(goPath, goroutines), kind: goroutines, optional: true})
	}
	return s, nil
}

// checkQuery refuses what the profiles of Go are not if their query asks for it.
func checkQuery(u *url.URL) error {
	q := u.Query()
	switch {
	case !strings.Contains(u.Path, "/"+goPath+"/"):
		return nil
	case slices.ContainsFunc(q["debug"], func(v string) bool { return v != "0" }):
		return errText
	case q.Has("seconds"):
		return errDelta
	}
	return nil
}
