package table

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/fleet/rows"
)

// Table is one of the tables.
type Table struct {
	// Name is that of its directory. Version is of its columns; files contain both.
	Name    string
	Version int
	// order are the columns by which a compacted file is sorted. Together they are unique. Aliases
	// are few, and are not compacted.
	order []string
	// schema is made when it is first used: most commands use none.
	schema func() *parquet.Schema
}

// Tables, in the order in which they are written.
var (
	Sites   = &Table{"sites", 1, []string{"service", "site_key", "host", "run_id"}, schemaOf[rows.Site]()}
	Aliases = &Table{"aliases", 1, nil, schemaOf[rows.Alias]()}
	Runs    = &Table{"runs", 1, []string{"service", "host", "run_id"}, schemaOf[rows.Run]()}
)

func schemaOf[T any]() func() *parquet.Schema {
	return sync.OnceValue(func() *parquet.Schema {
		var row T
		return parquet.SchemaOf(row)
	})
}

const (
	suffix = ".parquet"
	// compacted is the file that has all runs of a night.
	compacted = "all" + suffix
	// replacement is the suffix of the file of a run that a compacted file has, too. Queries do not
	// read it; the next compaction takes it instead of the old rows.
	replacement = ".replacement"
	// emptyNight is the night of an empty file of aliases: engines cannot read a table without
	// files.
	emptyNight = "0001-01-01"
)

var night = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// CheckNight returns an error for a night that is no date.
func CheckNight(text string) error {
	if _, err := time.Parse(time.DateOnly, text); err != nil || !night.MatchString(text) {
		return fmt.Errorf("%q is no date; want YYYY-MM-DD", text)
	}
	return nil
}

// Written is where a run was written.
type Written struct {
	// Path is the file of the run in the table runs.
	Path string
	// Compacted reports whether the night is compacted, and has the run: the next compaction
	// replaces its rows.
	Compacted bool
}

// WriteRun writes the rows of a run below dir.
func WriteRun(dir string, e *rows.Exported) (Written, error) {
	if err := CheckNight(e.Run.Night); err != nil {
		return Written{}, err
	}
	known, err := Runs.runsOf(filepath.Join(dir, Runs.Name, "night="+e.Run.Night, compacted))
	if err != nil {
		return Written{}, err
	}
	name := e.Run.RunID + suffix
	if known[e.Run.RunID] {
		name += replacement
	}
	if !exists(filepath.Join(dir, Aliases.Name)) {
		if _, err := write(dir, Aliases, emptyNight, "none"+suffix, []rows.Alias{}); err != nil {
			return Written{}, err
		}
	}
	if _, err := write(dir, Sites, e.Run.Night, name, e.Sites); err != nil {
		return Written{}, err
	}
	path, err := write(dir, Runs, e.Run.Night, name, []rows.Run{e.Run})
	return Written{path, known[e.Run.RunID]}, err
}

// WriteAliases writes the aliases of a build below dir, and returns the path.
func WriteAliases(dir string, o rows.Origin, oldBuild, newBuild string, list []rows.Alias) (string, error) {
	if err := CheckNight(o.Night); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(o.Service + "\x00" + oldBuild + "\x00" + newBuild))
	return write(dir, Aliases, o.Night, hex.EncodeToString(sum[:8])+suffix, list)
}

// write writes rows to a file of a table. A compaction that ends meanwhile takes the temporary file
// away: then it is written again.
func write[T any](dir string, t *Table, of, name string, list []T) (path string, err error) {
	for range attempts {
		if path, err = writeOnce(dir, t, of, name, list); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return path, err
}

// attempts is how often a file is written until no compaction ends meanwhile.
const attempts = 5

func writeOnce[T any](dir string, t *Table, of, name string, list []T) (string, error) {
	folder := filepath.Join(dir, t.Name, "night="+of)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		out := t.writer(w)
		for i := range list {
			row := t.schema().Deconstruct(nil, &list[i])
			if run, ok := any(&list[i]).(*rows.Run); ok {
				row = t.withLabels(row, run.Labels)
			}
			if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// groupRows is the number of rows that a reader can skip at once.
const groupRows = 256 << 10

// writer writes rows of any table.
type writer = parquet.GenericWriter[any]

// writer returns a writer of a file of the table.
func (t *Table) writer(w io.Writer) *writer {
	return parquet.NewGenericWriter[any](w, t.schema(),
		parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.CreatedBy("heaplapse", "", ""), parquet.KeyValueMetadata(schemaKey, t.id()))
}

// schemaKey is the key of the metadata that names the table and its version.
const schemaKey = "heaplapse.schema"

func (t *Table) id() string { return fmt.Sprintf("heaplapse.fleet.%s/%d", t.Name, t.Version) }

// withLabels replaces the labels of a row by the same in a fixed order: the library takes them in
// that of a Go map, which differs from run to run.
func (t *Table) withLabels(row parquet.Row, labels map[string]string) parquet.Row {
	if len(labels) < 2 {
		return row
	}
	key := t.column("labels", "key_value", "key")
	value := t.column("labels", "key_value", "value")
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	var out parquet.Row
	for _, v := range row {
		if c := v.Column(); c != key.ColumnIndex && c != value.ColumnIndex {
			out = append(out, v)
		}
	}
	for i, name := range names {
		repetition := min(i, key.MaxRepetitionLevel)
		out = append(out,
			parquet.ByteArrayValue([]byte(name)).Level(repetition, key.MaxDefinitionLevel, key.ColumnIndex),
			parquet.ByteArrayValue([]byte(labels[name])).Level(repetition, value.MaxDefinitionLevel, value.ColumnIndex))
	}
	slices.SortStableFunc(out, func(a, b parquet.Value) int { return cmp.Compare(a.Column(), b.Column()) })
	return out
}

// column is a leaf of the schema.
func (t *Table) column(path ...string) parquet.LeafColumn {
	leaf, ok := t.schema().Lookup(path...)
	if !ok {
		panic(fmt.Sprintf("table %s has no column %s", t.Name, path)) // the schema is part of the program
	}
	return leaf
}
