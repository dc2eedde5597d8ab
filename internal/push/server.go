package push

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Server is a kind of server.
type Server string

// The servers.
const (
	Pyroscope Server = "pyroscope"
	Parca     Server = "parca"
)

// Servers lists the servers.
func Servers() []string { return []string{string(Pyroscope), string(Parca)} }

// path is where a server takes profiles.
func (s Server) path() string {
	if s == Parca {
		return "api/profiles/writeraw" // of the gateway that gives JSON to ProfileStoreService.WriteRaw
	}
	return "push.v1.PusherService/Push" // Connect, with JSON
}

// message is the body of a request with one profile.
type message struct {
	Series []series `json:"series"`
}

type series struct {
	Labels  any      `json:"labels"`
	Samples []sample `json:"samples"`
}

type sample struct {
	RawProfile []byte `json:"rawProfile"` // compressed
	ID         string `json:"ID,omitempty"`
}

// body returns the body of a request with an encoded profile. The same profile gives the same body.
func (s Server) body(labels []Label, encoded []byte) ([]byte, error) {
	packed, err := compress(encoded)
	if err != nil {
		return nil, err
	}
	one := series{Labels: labels, Samples: []sample{{RawProfile: packed}}}
	if s == Parca {
		one.Labels = struct {
			Labels []Label `json:"labels"`
		}{labels}
	} else {
		one.Samples[0].ID = id(labels, encoded)
	}
	return json.Marshal(message{Series: []series{one}})
}

func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(content); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}

// id returns a UUID of version 8 (RFC 9562) that names a profile. A repeated request has the same.
func id(labels []Label, encoded []byte) string {
	h := sha256.New()
	fmt.Fprintln(h, Selector(labels))
	h.Write(encoded)
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// numbered returns labels with the number of a part, from 1 on, of several.
func numbered(labels []Label, part, parts int) []Label {
	if parts == 1 {
		return labels
	}
	return withLabels(slices.Clone(labels), []Label{{partLabel, strconv.Itoa(part + 1)}})
}
