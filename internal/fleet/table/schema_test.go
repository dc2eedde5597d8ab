package table_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// sqlType is the type of a column in SQL.
func sqlType(c *parquet.Column) string {
	switch {
	case !c.Leaf():
		return "MAP(VARCHAR, VARCHAR)"
	case c.Type().Kind() == parquet.ByteArray && c.Type().LogicalType().UTF8 != nil:
		return "VARCHAR"
	case c.Type().Kind() == parquet.Int64:
		return "BIGINT"
	case c.Type().Kind() == parquet.Double:
		return "DOUBLE"
	case c.Type().Kind() == parquet.Boolean:
		return "BOOLEAN"
	}
	return c.Type().String()
}

// TestFilesMeetTheirSchema compares files with docs/schema/fleet.schema.json.
func TestFilesMeetTheirSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs/schema/fleet.schema.json"))
	require.NoError(t, err)
	type column struct {
		Name, Type string
		Nullable   bool
	}
	var documented struct {
		Tables []struct {
			Name, Schema string
			Columns      []column
		}
	}
	require.NoError(t, json.Unmarshal(text, &documented))
	require.Len(t, documented.Tables, 3)
	dir := t.TempDir()
	put(t, dir, exported(1, 3, 1))
	for _, table := range documented.Tables {
		files, err := filepath.Glob(filepath.Join(dir, table.Name, "night=*", "*.parquet"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		f, err := os.Open(files[0])
		require.NoError(t, err)
		defer f.Close()
		info, err := f.Stat()
		require.NoError(t, err)
		in, err := parquet.OpenFile(f, info.Size())
		require.NoError(t, err)
		schema, _ := in.Lookup("heaplapse.schema")
		require.Equal(t, table.Schema, schema)
		var columns []column
		for _, c := range in.Root().Columns() {
			columns = append(columns, column{c.Name(), sqlType(c), c.Optional() && c.Leaf()})
		}
		require.Equal(t, table.Columns, columns, table.Name)
	}
}
