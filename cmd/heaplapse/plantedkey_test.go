package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// keyBytes are the bytes in use at the end of a recording, by the key of the site.
func (w *workshop) keyBytes(t *testing.T, snapshots string) map[string]int64 {
	t.Helper()
	out, stderr, status := w.heaplapse("growth", "-q", "--all", "--format", "json", snapshots)
	require.Equal(t, exitOK, status, stderr)
	var result struct {
		Sites []struct {
			SiteKey    string  `json:"site_key"`
			KeyKind    string  `json:"key_kind"`
			InuseBytes []int64 `json:"inuse_bytes"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	bytes := map[string]int64{}
	for _, s := range result.Sites {
		require.Equal(t, "function", s.KeyKind)
		bytes[s.SiteKey] += s.InuseBytes[len(s.InuseBytes)-1]
	}
	return bytes
}

// sameKeys is the share of the bytes whose key the other recording has, too.
func sameKeys(bytes, other map[string]int64) float64 {
	same, all := int64(0), int64(0)
	for key, n := range bytes {
		all += n
		if _, ok := other[key]; ok {
			same += n
		}
	}
	return float64(same) / float64(all)
}

// TestKeysOfPlantedBuilds builds one program in many ways. Its sites keep their keys, unless their
// functions were renamed or split: then the gate's matching gives their aliases.
func TestKeysOfPlantedBuilds(t *testing.T) {
	testutil.NoRace(t)
	w := useWorkshop(t)
	var builds []planted
	for _, b := range plantedBuilds {
		if b.status == "" {
			builds = append(builds, b)
		}
	}
	programs := w.buildAll(t, builds)
	record := func(build string) string { return w.record(t, tcmalloc, programs[build], 1, 1) }
	first := record("unchanged")
	bytes := w.keyBytes(t, first)
	load := func(dir string) *baseline.Run {
		run, err := baseline.Load(w.save(t, dir))
		require.NoError(t, err)
		return run
	}
	before := load(first)
	for _, b := range builds {
		dir := record(b.name)
		share := sameKeys(w.keyBytes(t, dir), bytes)
		list, err := gate.Aliases(before, load(dir), gate.Options{})
		require.NoError(t, err)
		names := map[string][]string{}
		for _, a := range list {
			require.NotEqual(t, a.Old.Site, a.New.Site)
			names[a.OldFunction] = append(names[a.OldFunction], a.NewFunction)
		}
		t.Logf("%s: %.1f %% of the bytes keep their keys; aliases: %v", b.name, 100*share, names)
		switch b.name {
		case "renamed":
			require.Less(t, share, 0.9)
			require.Equal(t, map[string][]string{"shop::Catalog::load": {"shop::Catalog::fetch"}}, names)
		case "split":
			require.Less(t, share, 0.9)
			require.Len(t, names, 1)
			require.ElementsMatch(t, []string{"shop::Catalog::text", "shop::Catalog::pictures"}, names["shop::Catalog::load"])
		default:
			require.Equal(t, 1.0, share, b.name)
			require.Empty(t, names, b.name)
		}
	}
}
