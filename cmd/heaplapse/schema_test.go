package main

import (
	"archive/tar"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestJSONMeetsItsSchema validates the JSON of each command against its schema in docs.
func TestJSONMeetsItsSchema(t *testing.T) {
	testutil.NoRace(t)
	series := []string{"leaky", "leaky-jemalloc", "leaky-jemalloc-noaccum", "python", "node", "dialects/fork", "dialects/restart"}
	for _, command := range []string{"growth", "top", "info"} {
		schema := compileSchema(t, command)
		for _, s := range series {
			path := testutil.Data(t, s)
			args := []string{command, "-q", "--format", "json", path}
			if command != "info" {
				args = append(args, "--sysroot", testutil.Data(t, "leaky/sysroot"))
			}
			out, stderr, code := invoke(t, args...)
			require.Equal(t, exitOK, code, stderr)
			require.True(t, strings.HasPrefix(out, "{\n  \"schema\": \"heaplapse."+command+"/1\""), "the schema comes first")
			validate(t, schema, out)
		}
	}
}

// TestEvidenceMeetsItsSchemas validates what --evidence adds.
func TestEvidenceMeetsItsSchemas(t *testing.T) {
	series := testutil.Data(t, "evidence/series")
	sarif, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "internal/report/gate/testdata/schema/sarif-schema-2.1.0.json"))
	require.NoError(t, err)
	for _, c := range []struct {
		schema *jsonschema.Schema
		args   []string
	}{
		{compileSchema(t, "growth"), []string{"growth", series, "--format", "json"}},
		{compileSchema(t, "report"), []string{"report", series, "--format", "json"}},
		{compileSchema(t, "gate"), []string{"gate", "--baseline", series, "--current", series, "--json", "-"}},
		{sarif, []string{"gate", "--baseline", series, "--current", series, "--sarif", "-"}},
	} {
		args := append(c.args, "-q", "--sysroot", testutil.Data(t, "evidence/sysroot"),
			"--evidence", testutil.Data(t, "evidence/memcheck.xml"), "--evidence", testutil.Data(t, "evidence/asan-gcc.txt"))
		out, stderr, code := invoke(t, args...)
		require.NotEqual(t, exitFailure, code, stderr)
		validate(t, c.schema, out)
	}
}

func TestReportJSONMeetsItsSchema(t *testing.T) {
	schema := compileSchema(t, "report")
	for _, s := range []string{"leaky", "leaky-jemalloc-noaccum", "python", "dialects/restart", "workers/leak"} {
		out, stderr, code := invoke(t, "report", "-q", "--format", "json", testutil.Data(t, s),
			"--sysroot", testutil.Data(t, "leaky/sysroot"), "--source-root", testutil.Data(t, "workers"))
		require.Equal(t, exitOK, code, stderr)
		require.True(t, strings.HasPrefix(out, `{"schema":"heaplapse.report/1"`), "the schema comes first")
		validate(t, schema, out)
	}
}

func TestDiffJSONMeetsItsSchema(t *testing.T) {
	schema := compileSchema(t, "diff")
	for _, pair := range [][2]string{
		{"leaky/leaky.0002.heap.gz", "leaky"}, {"leaky", "leaky-jemalloc"}, {"leaky-jemalloc", "leaky-jemalloc-noaccum"},
		{"python/python.0002.heap.gz", "python/python.0009.heap.gz"}, {"leaky", "node"},
	} {
		out, stderr, code := invoke(t, "diff", "-q", "--format", "json", testutil.Data(t, pair[0]), testutil.Data(t, pair[1]),
			"--sysroot", testutil.Data(t, "leaky/sysroot"))
		require.Equal(t, exitOK, code, stderr)
		validate(t, schema, out)
	}
	out, stderr, code := invoke(t, "diff", "-q", "--persist", "--format", "json", testutil.Data(t, "leaky/leaky.0005.heap.gz"),
		testutil.Data(t, "leaky/leaky.0010.heap.gz"), testutil.Data(t, "leaky/leaky.0020.heap.gz"), "--sysroot", testutil.Data(t, "leaky/sysroot"))
	require.Equal(t, exitOK, code, stderr)
	validate(t, compileSchema(t, "persist"), out)
}

// TestGateMeetsItsSchemas validates the results of real runs, also against the published schema of
// SARIF.
func TestGateMeetsItsSchemas(t *testing.T) {
	testutil.NoRace(t)
	sarif, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "internal/report/gate/testdata/schema/sarif-schema-2.1.0.json"))
	require.NoError(t, err)
	schemas := map[string]*jsonschema.Schema{"--json": compileSchema(t, "gate"), "--sarif": sarif}
	for _, runs := range [][2]string{
		{"leaky/leaky.000?.heap.gz", "leaky/leaky.00[12]?.heap.gz"}, {"leaky", "leaky"}, {"python/python.000[2-5].heap.gz", "python/python.000[6-9].heap.gz"},
		{"leaky-jemalloc", "leaky-jemalloc"}, {"node", "node"},
	} {
		for form, schema := range schemas {
			out, stderr, code := invoke(t, "gate", "-q", "--baseline", testutil.Data(t, runs[0]), "--current", testutil.Data(t, runs[1]),
				"--sysroot", testutil.Data(t, "leaky/sysroot"), form, "-")
			require.NotEqual(t, exitFailure, code, stderr)
			validate(t, schema, out)
		}
	}
	out, stderr, code := invoke(t, "gate", "-q", "--baseline", testutil.Data(t, "leaky"), "--current", testutil.Data(t, "lines"), "-o", "json=-")
	require.Equal(t, exitFailure, code, stderr)
	validate(t, schemas["--json"], out)
}

func TestSymbolizeJSONMeetsItsSchema(t *testing.T) {
	schema := compileSchema(t, "symbolize")
	var out, errs strings.Builder
	code := run(t.Context(), []string{"symbolize", "-e", testutil.Data(t, "leaky/sysroot/opt/leaky/bin/leaky"), "--format", "json"},
		streams{in: strings.NewReader("0x43f6\n0x1\nnothing\n"), out: &out, err: &errs})
	require.Equal(t, exitOK, code, errs.String())
	validate(t, schema, out.String())
}

func TestConvertJSONMeetsItsSchema(t *testing.T) {
	schema := compileSchema(t, "convert")
	for _, s := range []string{"leaky/leaky.0024.heap.gz", "leaky-jemalloc-noaccum/leaky.12706.2.i2.heap.gz", "python/python.0012.heap.gz"} {
		out, stderr, code := invoke(t, "convert", "-q", "--format", "json", "--max-samples", "50", "-o", "-",
			testutil.Data(t, s), "--sysroot", testutil.Data(t, "leaky/sysroot"))
		require.Equal(t, exitOK, code, stderr)
		validate(t, schema, out)
	}
}

func TestBundleIndexMeetsItsSchema(t *testing.T) {
	schema := compileSchema(t, "bundle")
	for series, root := range map[string]string{
		"leaky": "leaky/sysroot", "node": "node/sysroot", "dialects/processes": "leaky/sysroot",
	} {
		out, stderr, code := invoke(t, "bundle", "-q", "-o", "-", testutil.Data(t, series), "--sysroot", testutil.Data(t, root))
		require.Equal(t, exitOK, code, stderr)
		z, err := zstd.NewReader(strings.NewReader(out))
		require.NoError(t, err)
		archive := tar.NewReader(z)
		_, err = archive.Next()
		require.NoError(t, err)
		index, err := io.ReadAll(archive)
		z.Close()
		require.NoError(t, err)
		validate(t, schema, string(index))
	}
}

func compileSchema(t *testing.T, command string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "docs/schema", command+".schema.json"))
	require.NoError(t, err)
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, document string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(v))
}

func TestBaselinesMeetTheirSchema(t *testing.T) {
	pool := t.TempDir()
	for _, label := range []string{"n=1", "n=2"} {
		_, stderr, code := invoke(t, "baseline", "save", pool, testutil.Data(t, "leaky"), "--sysroot", testutil.Data(t, "leaky/sysroot"), "--label", label, "--pin")
		require.Equal(t, exitOK, code, stderr)
	}
	out, stderr, code := invoke(t, "baseline", "list", pool, "--format", "json")
	require.Equal(t, exitOK, code, stderr)
	validate(t, compileSchema(t, "baselines"), out)
}
