package series_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// image returns the mappings of a process image whose program and loader are at a base address.
func image(base int, more ...string) []string {
	return append([]string{
		fmt.Sprintf("%x-%x r-xp 00001000 00:00 11 /usr/bin/program", base+0x1000, base+0x2000),
		fmt.Sprintf("%x-%x r-xp 00002000 00:00 12 /usr/lib/ld-linux-x86-64.so.2", base+0x12000, base+0x13000),
	}, more...)
}

// snapshot returns a snapshot with one row, a stack with allocated bytes, and mappings.
func snapshot(alloc int, stack string, mappings []string) string {
	counts := fmt.Sprintf("1: 8 [9: %d]", alloc)
	return heaptest.Lines("heap profile: "+counts+" @ heapprofile", counts+" @ "+stack, "", "MAPPED_LIBRARIES:") + heaptest.Lines(mappings...)
}

// serial returns the texts under the names p.0001.heap, p.0002.heap, ….
func serial(texts ...string) map[string]string {
	files := map[string]string{}
	for i, text := range texts {
		files[fmt.Sprintf("p.%04d.heap", i+1)] = text
	}
	return files
}

func images(s *series.Series) []int {
	var out []int
	for _, h := range s.Heads {
		out = append(out, h.Image)
	}
	return out
}

func TestMovedMappingsAreARestart(t *testing.T) {
	dir := put(t, serial(
		snapshot(100, "0x1", image(0x550000)), snapshot(200, "0x1", image(0x550000)),
		snapshot(300, "0x1", image(0x770000)), snapshot(400, "0x1", image(0x770000))))
	s := open(t, series.Options{}, dir)
	require.Equal(t, []int{0, 0, 1, 1}, images(s))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnRestart).Msg, "2 process images")
	require.Equal(t, 2, s.Stacks.Len(), "equal addresses in different images are different stacks")
}

func TestRestartIsFoundAcrossASnapshotWithoutMappings(t *testing.T) {
	noAccum := func(base int) string {
		return heaptest.Lines("heap_v2/1", "  t*: 1: 8 [0: 0]", "@ 0x1", "  t*: 1: 8 [0: 0]", "", "MAPPED_LIBRARIES:") + heaptest.Lines(image(base)...)
	}
	partial, _, _ := strings.Cut(noAccum(0x550000), "\nMAPPED")
	s := open(t, series.Options{}, put(t, serial(noAccum(0x550000), partial, noAccum(0x770000))))
	require.Equal(t, []int{0, 0, 1}, images(s))
}

func TestForkIsNotARestart(t *testing.T) {
	dir := put(t, serial(snapshot(100, "0x1", image(0x550000)), snapshot(200, "0x1", image(0x550000)), snapshot(150, "0x1", image(0x550000))))
	s := open(t, series.Options{}, dir)
	require.Equal(t, []int{0, 0, 1}, images(s))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnFork).Msg, "HEAPPROFILE_USE_PID=1")
	require.NotContains(t, heaptest.Kinds(s.Warnings), "restart")
}

func TestFileReplacedWhileMappedIsTheSameImage(t *testing.T) {
	moved := image(0x550000)
	moved[0] += " (deleted)"
	s := open(t, series.Options{}, put(t, serial(snapshot(100, "0x1", image(0x550000)), snapshot(200, "0x1", moved))))
	require.Equal(t, []int{0, 0}, images(s))
}

// TestLoaderCacheIsNotTheLoader: a snapshot within a dlopen has it mapped, below the loader.
func TestLoaderCacheIsNotTheLoader(t *testing.T) {
	loading := image(0x550000)
	loading = []string{loading[0], "557000-558000 r--p 00000000 00:00 13 /etc/ld.so.cache", loading[1]}
	s := open(t, series.Options{}, put(t, serial(
		snapshot(100, "0x1", image(0x550000)), snapshot(200, "0x1", loading), snapshot(300, "0x1", image(0x550000)))))
	require.Equal(t, []int{0, 0, 0}, images(s))
}

func TestRestartsAndForksOfFixtures(t *testing.T) {
	restart := open(t, series.Options{}, testutil.Data(t, "dialects/restart"))
	heaptest.Find(t, restart.Warnings, heapfile.WarnRestart)
	fork := open(t, series.Options{}, testutil.Data(t, "dialects/fork"))
	heaptest.Find(t, fork.Warnings, heapfile.WarnFork)
	steady := open(t, series.Options{}, testutil.Data(t, "leaky"))
	require.Zero(t, steady.Heads[len(steady.Heads)-1].Image)
}

const (
	first  = "7f0000000000-7f0000010000 r-xp 00000000 00:00 21 /opt/libfirst.so"
	second = "7f0000000000-7f0000010000 r-xp 00000000 00:00 22 /opt/libsecond.so"
)

// spacesOf returns, for the leaf of each stack, the first mapped file of /opt in its space.
func spacesOf(s *series.Series) map[string]string {
	out := map[string]string{}
	for id := range heapfile.StackID(s.Stacks.Len()) {
		leaf := s.Stacks.Addrs(id)[0]
		for _, m := range s.Spaces[s.Stacks.Space(id)].Mappings {
			if m.Contains(leaf) {
				out[fmt.Sprintf("0x%x", uint64(leaf))] += m.Path
			}
		}
	}
	return out
}

func TestUnloadedLibraryStaysInItsSpace(t *testing.T) {
	dir := put(t, serial(snapshot(1, "0x7f0000000010", image(0x550000, first)), snapshot(2, "0x7f0000000010", image(0x550000))))
	s := open(t, series.Options{}, dir)
	require.Len(t, s.Spaces, 1)
	require.Equal(t, map[string]string{"0x7f0000000010": "/opt/libfirst.so"}, spacesOf(s))
}

func TestRangeReusedByAnotherFileBeginsANewSpace(t *testing.T) {
	dir := put(t, serial(
		snapshot(1, "0x7f0000000010", image(0x550000, first)),
		snapshot(2, "0x7f0000000020", image(0x550000, second)),
		snapshot(3, "0x7f0000000010", image(0x550000, second))))
	s := open(t, series.Options{}, dir)
	require.Equal(t, []int{0, 0, 0}, images(s))
	require.Len(t, s.Spaces, 2)
	require.Equal(t, map[string]string{
		"0x7f0000000010": "/opt/libfirst.so", // known before: keeps its space
		"0x7f0000000020": "/opt/libsecond.so",
	}, spacesOf(s))
}

func TestRebuiltLibraryAtTheSamePathIsAnotherFile(t *testing.T) {
	rebuilt := strings.Replace(first, "00:00 21", "00:00 99", 1)
	dir := put(t, serial(snapshot(1, "0x7f0000000010", image(0x550000, first)), snapshot(2, "0x7f0000000020", image(0x550000, rebuilt))))
	require.Len(t, open(t, series.Options{}, dir).Spaces, 2)
}

func TestGrowingMappingOfTheSameFileKeepsItsSpace(t *testing.T) {
	grown := strings.Replace(first, "7f0000010000", "7f0000020000", 1)
	dir := put(t, serial(snapshot(1, "0x7f0000000010", image(0x550000, first)), snapshot(2, "0x7f0000010020", image(0x550000, grown))))
	require.Len(t, open(t, series.Options{}, dir).Spaces, 1)
}

func TestReloadedLibrariesOfAFixtureHaveSeparateSpaces(t *testing.T) {
	s := open(t, series.Options{}, testutil.Data(t, "dialects/dlclose"))
	files := map[string]bool{}
	for _, sp := range s.Spaces {
		for _, m := range sp.Mappings {
			files[m.Path] = true
		}
	}
	require.True(t, files["/opt/heaplapse/lib/libfirst.so"])
	require.True(t, files["/opt/heaplapse/lib/libsecond.so"])
}

func TestUnfinishedLastFileIsLeftOut(t *testing.T) {
	partial := heaptest.Lines("heap profile: 1: 8 [9: 300] @ heapprofile", "1: 8 [9: 300] @ 0x1")
	dir := put(t, serial(snapshot(100, "0x1", image(0)), snapshot(200, "0x1", image(0)), partial))
	var visited pass
	s := open(t, series.Options{Visit: visited.visit}, dir)
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap"}, names(s))
	require.Len(t, visited.seen, 2)
	w := heaptest.Find(t, s.Warnings, heapfile.WarnUnfinished)
	require.Contains(t, w.Error(), "p.0003.heap: left out")
	again := pass{}
	for snap, err := range s.All(0) {
		require.NoError(t, err)
		require.NoError(t, again.visit(snap))
	}
	require.Equal(t, visited.seen, again.seen)
}

func TestUnfinishedFileInTheMiddleIsRead(t *testing.T) {
	partial := heaptest.Lines("heap profile: 1: 8 [9: 150] @ heapprofile", "1: 8 [9: 150] @ 0x1")
	dir := put(t, serial(snapshot(100, "0x1", image(0)), partial, snapshot(200, "0x1", image(0))))
	var visited pass
	s := open(t, series.Options{Visit: visited.visit}, dir)
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap", "p.0003.heap"}, names(s))
	require.Equal(t, []int{0, 0, 0}, images(s))
	require.Len(t, visited.seen, 3)
	require.Contains(t, heaptest.Kinds(s.Heads[1].Warnings), "partial")
}

func TestOnlyFileIsReadEvenIfUnfinished(t *testing.T) {
	dir := put(t, serial(heaptest.Lines("heap profile: 1: 8 [9: 150] @ heapprofile", "1: 8 [9: 150] @ 0x1")))
	s := open(t, series.Options{}, dir)
	require.Len(t, s.Heads, 1)
	require.True(t, s.Heads[0].Completeness.Unfinished)
}

func TestUnreadableLaterFilesDoNotAffectTheLastSnapshot(t *testing.T) {
	dir := put(t, serial(snapshot(100, "0x1", image(0)), snapshot(200, "0x1", image(0)), "{}"))
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap"}, names(open(t, series.Options{}, dir)))
}
