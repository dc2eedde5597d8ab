// Package pushtest has servers that take and refuse profiles as Pyroscope and Parca do: the limits
// and messages are those of their sources (Pyroscope's pkg/distributor and pkg/validation, Parca's
// pkg/profilestore).
package pushtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// Received is a profile that a server has taken.
type Received struct {
	Labels map[string]string
	*profile.Profile
}

// Server is a server for profiles.
type Server struct {
	*httptest.Server
	// Busy is the number of requests that are answered with BusyStatus, 429 unless it is set.
	Busy, BusyStatus int
	// RejectOlderThan is the age of profiles that Pyroscope refuses; 0 takes all.
	RejectOlderThan time.Duration
	// Token, if not "", is required as a bearer token.
	Token string

	mu       sync.Mutex
	requests int
	taken    []Received
	bodies   []string
}

// Limits of Pyroscope.
const (
	maxSamples = 16_000
	maxBytes   = 4 << 20
)

// Pyroscope returns a server with the API of Pyroscope.
func Pyroscope(t testing.TB) *Server {
	return start(t, "/push.v1.PusherService/Push", (*Server).pyroscope)
}

// Parca returns a server with the API of Parca.
func Parca(t testing.TB) *Server { return start(t, "/api/profiles/writeraw", (*Server).parca) }

// Received returns the profiles that were taken, and the number of requests.
func (s *Server) Received() ([]Received, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, s.requests
}

// Bodies returns those of all requests.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

// Page returns a server that answers with a page, as a proxy does that wants a login.
func Page(t testing.TB) *Server {
	s := &Server{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html>")
	}))}
	t.Cleanup(s.Close)
	return s
}

// refusal is an answer that is no success.
type refusal struct {
	status  int
	code    any // a word of Connect, or a number of gRPC
	message string
}

func start(t testing.TB, path string, take func(*Server, *json.Decoder) *refusal) *Server {
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests++
		switch {
		case r.Method != http.MethodPost || r.URL.Path != path:
			http.NotFound(w, r)
			return
		case r.Header.Get("Content-Type") != "application/json":
			http.Error(w, "", http.StatusUnsupportedMediaType)
			return
		case s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token:
			http.Error(w, "no org id", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.bodies = append(s.bodies, string(body))
		problem := s.busy()
		if problem == nil {
			d := json.NewDecoder(bytes.NewReader(body))
			d.DisallowUnknownFields()
			problem = take(s, d)
		}
		w.Header().Set("Content-Type", "application/json")
		if problem == nil {
			fmt.Fprint(w, "{}")
			return
		}
		w.WriteHeader(problem.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": problem.code, "message": problem.message})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *Server) busy() *refusal {
	if s.Busy == 0 {
		return nil
	}
	s.Busy--
	if s.BusyStatus != 0 {
		return &refusal{s.BusyStatus, "unavailable", "upstream is not ready"}
	}
	return &refusal{http.StatusTooManyRequests, "resource_exhausted", "push rate limit (4.0 MiB) exceeded while adding 1.2 MiB"}
}

type label struct{ Name, Value string }

func asMap(list []label) map[string]string {
	out := map[string]string{}
	for _, l := range list {
		out[l.Name] = l.Value
	}
	return out
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (s *Server) pyroscope(d *json.Decoder) *refusal {
	invalid := func(format string, args ...any) *refusal {
		return &refusal{http.StatusBadRequest, "invalid_argument", fmt.Sprintf(format, args...)}
	}
	var body struct {
		Series []struct {
			Labels  []label
			Samples []struct {
				RawProfile []byte
				ID         string
			}
		}
	}
	if err := d.Decode(&body); err != nil {
		return invalid("unmarshal message: %v", err)
	}
	for _, one := range body.Series {
		labels := asMap(one.Labels)
		switch {
		case labels["service_name"] == "":
			return invalid("invalid labels '%v' with error: service name is not provided", labels)
		case labels["__name__"] == "":
			return invalid("invalid labels '%v' with error: invalid metric name", labels)
		}
		for _, sample := range one.Samples {
			p, err := profile.ParseData(sample.RawProfile)
			if err != nil {
				return invalid("%v", err)
			}
			var size bytes.Buffer
			if err := p.WriteUncompressed(&size); err != nil {
				return invalid("%v", err)
			}
			oldest := time.Now().Add(-s.RejectOlderThan)
			switch {
			case !uuid.MatchString(sample.ID):
				return invalid("invalid UUID")
			case size.Len() > maxBytes:
				return invalid("uncompressed profile payload size exceeds limit of 4.2 MB")
			case len(p.Sample) > maxSamples:
				return invalid("the profile with labels '%v' exceeds the samples count limit (max_profile_stacktrace_samples, actual: %d, limit: %d)", labels, len(p.Sample), maxSamples)
			case s.RejectOlderThan > 0 && time.Unix(0, p.TimeNanos).Before(oldest):
				return invalid("profile with labels '%v' is outside of ingestion window (profile timestamp: %s, the ingestion window starts at %s)", labels, time.Unix(0, p.TimeNanos).UTC(), oldest.UTC())
			}
			s.taken = append(s.taken, Received{labels, p})
		}
	}
	return nil
}

func (s *Server) parca(d *json.Decoder) *refusal {
	var body struct {
		Series []struct {
			Labels  struct{ Labels []label }
			Samples []struct{ RawProfile []byte }
		}
	}
	if err := d.Decode(&body); err != nil {
		return &refusal{http.StatusBadRequest, 3, err.Error()}
	}
	for _, one := range body.Series {
		labels := asMap(one.Labels.Labels)
		switch name := labels["__name__"]; {
		case name == "":
			return &refusal{http.StatusInternalServerError, 2, "missing __name__ label"}
		case strings.Contains(name, "-"):
			return &refusal{http.StatusInternalServerError, 2, "invalid profile type at row 0"}
		}
		for _, sample := range one.Samples {
			p, err := profile.ParseData(sample.RawProfile)
			if err != nil {
				return &refusal{http.StatusInternalServerError, 2, err.Error()}
			}
			s.taken = append(s.taken, Received{labels, p})
		}
	}
	return nil
}
