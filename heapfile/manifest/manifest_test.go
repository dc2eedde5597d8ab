package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

const (
	head     = `{"schema":"heaplapse.manifest/1"}` + "\n"
	snapshot = `{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:04:05.6Z","pid":4711,` +
		`"trigger":"time","rss_bytes":1048576}}` + "\n"
	mapping = `{"mapping":{"path":"/usr/bin/p","build_id":"ab12","size":123,"mtime":"2026-01-01T00:00:00Z"}}` + "\n"
	name    = "m.jsonl"
)

func read(text string) (*manifest.Manifest, error) {
	return manifest.Read(strings.NewReader(text), name)
}

func TestRecordsAreKeptInOrder(t *testing.T) {
	m, err := read(head + snapshot + mapping + strings.ReplaceAll(snapshot, "0001", "0002"))
	require.NoError(t, err)
	rss := int64(1048576)
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	require.Equal(t, &manifest.Manifest{
		Snapshots: []manifest.Snapshot{
			{File: "p.0001.heap", Time: at, PID: 4711, Trigger: "time", RSS: &rss},
			{File: "p.0002.heap", Time: at, PID: 4711, Trigger: "time", RSS: &rss},
		},
		Mappings: []manifest.Mapping{{Path: "/usr/bin/p", BuildID: "ab12", Size: 123, MTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}, m)
}

func TestUnknownRSSIsNotZero(t *testing.T) {
	m, err := read(head + `{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:04:05Z"}}` + "\n")
	require.NoError(t, err)
	require.Nil(t, m.Snapshots[0].RSS)
	require.Nil(t, m.Snapshots[0].PSS)
}

func TestTruncatedLastLineIsIgnored(t *testing.T) {
	for rule, last := range map[string]string{
		"half a record":                   snapshot[:20],
		"a record without its newline":    strings.TrimSuffix(snapshot, "\n"),
		"a record longer than the buffer": `{"mapping":{"path":"` + strings.Repeat("a", 100<<10),
	} {
		t.Run(rule, func(t *testing.T) {
			m, err := read(head + mapping + last)
			require.NoError(t, err)
			require.Len(t, m.Mappings, 1)
			require.Empty(t, m.Snapshots)
		})
	}
}

func TestUnknownKindsAndFieldsAreIgnored(t *testing.T) {
	m, err := read(head + `{"weather":{"sunny":true}}` + "\n" + `{"mapping":{"path":"/p","colour":"red"}}` + "\n")
	require.NoError(t, err)
	require.Equal(t, []manifest.Mapping{{Path: "/p"}}, m.Mappings)
}

func TestLongRecordIsRead(t *testing.T) {
	path := "/" + strings.Repeat("a", 200<<10)
	m, err := read(head + `{"mapping":{"path":"` + path + `"}}` + "\n" + mapping)
	require.NoError(t, err)
	require.Equal(t, path, m.Mappings[0].Path)
	require.Len(t, m.Mappings, 2)
}

func TestErrorsNameFileAndLine(t *testing.T) {
	for rule, c := range map[string]struct{ text, message string }{
		"not JSON": {head + "hello\n", "m.jsonl:2: invalid character 'h' looking for beginning of value"},
		"another schema": {
			`{"schema":"heaplapse.manifest/2"}` + "\n", `m.jsonl:1: schema "heaplapse.manifest/2", ` +
				`want "heaplapse.manifest/1": written by another version of heaplapse`,
		},
		"no schema": {
			snapshot, `m.jsonl:1: schema "", ` +
				`want "heaplapse.manifest/1": written by another version of heaplapse`,
		},
		"a line that is too long": {
			head + `{"mapping":{"path":"` + strings.Repeat("a", 2<<20) + `"}}` + "\n",
			"m.jsonl:2: record has more than 1048576 bytes",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			m, err := read(c.text)
			require.Nil(t, m)
			require.EqualError(t, err, c.message)
		})
	}
}

func TestNegativeSizesAreErrors(t *testing.T) {
	for _, field := range []string{"rss_bytes", "pss_bytes", "cpu_ns"} {
		text := head + `{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:04:05Z","` + field + `":-1}}` + "\n"
		m, err := manifest.Read(strings.NewReader(text), name)
		require.Nil(t, m)
		require.EqualError(t, err, name+":2: "+field+" is negative: -1")
	}
	for _, field := range []string{"rss_bytes", "cpu_ns"} {
		m, err := manifest.Read(strings.NewReader(head+`{"end":{"time":"2026-01-02T03:04:05Z","`+field+`":-1}}`+"\n"), name)
		require.Nil(t, m)
		require.EqualError(t, err, name+":2: "+field+" is negative: -1")
	}
}

func TestReadErrorIsWrapped(t *testing.T) {
	broken := errors.New("broken")
	m, err := manifest.Read(failing{broken}, name)
	require.Nil(t, m)
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestLoadReturnsNilWithoutAManifest(t *testing.T) {
	m, err := manifest.Load(t.TempDir())
	require.NoError(t, err)
	require.Nil(t, m)
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifest.Name)
	require.NoError(t, os.WriteFile(path, []byte(head+mapping), 0o644))
	m, err := manifest.Load(dir)
	require.NoError(t, err)
	require.Len(t, m.Mappings, 1)

	require.NoError(t, os.WriteFile(path, []byte(head+"{\n"), 0o644))
	_, err = manifest.Load(dir)
	require.ErrorContains(t, err, path+":2: ")
}

// FuzzManifest checks three laws. After an error the manifest is nil, and the error names the line.
// An accepted manifest can be encoded and read again. A truncated last line changes nothing.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(head + snapshot + mapping))
	f.Add([]byte(head + snapshot[:30]))
	f.Add([]byte(mapping))
	f.Add([]byte(head + `{"dropped":{"file":"p.0001.heap","reason":"thinned"}}` + "\n"))
	f.Add([]byte(head + `{"gap":{"prefix":"heap","from":"2026-01-02T03:04:05Z","reason":"refused"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Read(bytes.NewReader(data), name)
		if err != nil {
			require.Nil(t, m)
			require.Regexp(t, `^m\.jsonl:[1-9][0-9]*: `, err.Error())
			return
		}
		again, err := manifest.Read(bytes.NewReader(encode(t, m)), name)
		require.NoError(t, err)
		require.Equal(t, encode(t, m), encode(t, again))
		if len(data) == 0 || data[len(data)-1] == '\n' {
			longer, err := manifest.Read(bytes.NewReader(append(bytes.Clone(data), `{"snapsh`...)), name)
			require.NoError(t, err)
			require.Equal(t, m, longer)
		}
	})
}

// encode writes a manifest as a recorder does.
func encode(t *testing.T, m *manifest.Manifest) []byte {
	b := []byte(head)
	add := func(kind string, record any) {
		line, err := json.Marshal(map[string]any{kind: record})
		require.NoError(t, err)
		b = append(append(b, line...), '\n')
	}
	for _, s := range m.Snapshots {
		add("snapshot", s)
	}
	for _, dropped := range m.Dropped {
		add("dropped", dropped)
	}
	for _, gap := range m.Gaps {
		add("gap", gap)
	}
	for _, mapped := range m.Mappings {
		add("mapping", mapped)
	}
	return b
}

// TestALongManifest: a compressed archive may hold a manifest of any size.
func TestALongManifest(t *testing.T) {
	line := `{"unknown":"` + strings.Repeat("x", 1<<19) + `"}` + "\n"
	text := io.MultiReader(strings.NewReader(`{"schema":"heaplapse.manifest/1"}`+"\n"), heaptest.Endless(line))
	m, err := manifest.Read(text, "m")
	require.Nil(t, m)
	require.EqualError(t, err, "m:129: more than 64 MiB")
}

func TestMethod(t *testing.T) {
	for method, r := range map[string]manifest.Recording{
		manifest.MethodRecord: {Engine: "tcmalloc", Library: "/usr/lib/libtcmalloc.so.4"},
		manifest.MethodAttach: {Engine: "builtin"}, // its library is loaded from memory
		"":                    {URLs: []string{"http://localhost:6060"}},
	} {
		require.Equal(t, method, r.Method())
	}
}
