package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// open opens a file of the table. A file of another table, or of another version, is an error.
func (t *Table) open(path string) (*os.File, *parquet.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	in, err := t.check(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, in, nil
}

func (t *Table) check(f *os.File) (in *parquet.File, err error) {
	defer asError(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in, err = parquet.OpenFile(f, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	id, ok := in.Lookup(schemaKey)
	if !ok || id != t.id() {
		return nil, fmt.Errorf("has the schema %q, want %s: export the run again with this version", id, t.id())
	}
	if !t.hasColumnsOf(in.Schema()) {
		return nil, errors.New("its columns differ from those of its schema")
	}
	return in, nil
}

// hasColumnsOf reports whether all columns of a file are columns of the table. A file of an older
// version may lack columns that were added since, which are optional.
func (t *Table) hasColumnsOf(file *parquet.Schema) bool {
	if len(file.Columns()) == len(t.schema().Columns()) {
		return file.String() == t.schema().String()
	}
	missing := slices.DeleteFunc(t.schema().Fields(), func(f parquet.Field) bool {
		return slices.ContainsFunc(file.Fields(), func(g parquet.Field) bool {
			return f.Name() == g.Name() && parquet.EqualNodes(f, g)
		})
	})
	optional := !slices.ContainsFunc(missing, func(f parquet.Field) bool { return !f.Optional() })
	return optional && len(file.Fields())+len(missing) == len(t.schema().Fields())
}

// asError turns a panic of the library, which damaged files cause, into an error.
func asError(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged Parquet file: %v", p)
	}
}

// batch is the number of rows that are read at a time.
const batch = 256

// each calls use with each row of a file. The row is valid until use returns.
func (t *Table) each(path string, use func(parquet.Row) error) (err error) {
	f, in, err := t.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := newReader(path, in, t.schema())
	defer r.close()
	for {
		row, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(row)
		}
		if err != nil {
			return err
		}
	}
}

// reader reads the rows of a file one by one.
type reader struct {
	path    string
	rows    *parquet.GenericReader[any]
	columns []parquet.LeafColumn // of the file
	place   []int                // of each column of the file in the schema
	missing []int                // columns of the schema that the file lacks
	buffer  []parquet.Row
	full    int // rows in the buffer
	at      int
	end     error
}

// newReader returns a reader of a file. Its rows have the columns of a schema; those that the file
// lacks are null.
func newReader(path string, in *parquet.File, schema *parquet.Schema) *reader {
	r := &reader{
		path: path, rows: parquet.NewGenericReader[any](in),
		columns: columnsOf(in.Schema()), buffer: make([]parquet.Row, batch),
	}
	own, all := in.Schema().Columns(), schema.Columns()
	for _, path := range own {
		r.place = append(r.place, indexOf(all, path))
	}
	for i, path := range all {
		if indexOf(own, path) < 0 {
			r.missing = append(r.missing, i)
		}
	}
	return r
}

// indexOf returns the number of a column; -1 if there is none.
func indexOf(columns [][]string, path []string) int {
	return slices.IndexFunc(columns, func(c []string) bool { return slices.Equal(c, path) })
}

// next returns the next row, which is valid until the one after the buffer's last is read, or
// io.EOF.
func (r *reader) next() (parquet.Row, error) {
	for r.at == r.full {
		if r.end != nil {
			return nil, r.end
		}
		r.fill()
	}
	r.at++
	return r.widen(r.buffer[r.at-1]), nil
}

// widen returns a row of the file with the columns of the schema.
func (r *reader) widen(row parquet.Row) parquet.Row {
	if len(r.missing) == 0 {
		return row
	}
	out := make(parquet.Row, 0, len(row)+len(r.missing))
	for _, v := range row {
		out = append(out, v.Level(v.RepetitionLevel(), v.DefinitionLevel(), r.place[v.Column()]))
	}
	for _, column := range r.missing {
		out = append(out, parquet.NullValue().Level(0, 0, column))
	}
	slices.SortStableFunc(out, func(a, b parquet.Value) int { return cmp.Compare(a.Column(), b.Column()) })
	return out
}

func (r *reader) fill() {
	var err error
	func() {
		defer asError(&err)
		r.full, err = r.rows.ReadRows(r.buffer)
	}()
	for i := 0; i < r.full && (err == nil || errors.Is(err, io.EOF)); i++ {
		if bad := r.check(r.buffer[i]); bad != nil {
			err = bad
		}
	}
	r.at = 0
	switch {
	case errors.Is(err, io.EOF):
		r.end = io.EOF
	case err != nil:
		r.full, r.end = 0, fmt.Errorf("%s: %w", r.path, err)
	case r.full == 0:
		r.end = io.EOF
	}
}

// check returns an error if a row does not fit the schema, as the library reads it from some
// damaged files. To write it would crash. A row has the values of each column in turn, at least one
// each.
func (r *reader) check(row parquet.Row) error {
	next := 0
	for _, v := range row {
		c := v.Column()
		again := c == next-1 && r.columns[c].MaxRepetitionLevel > 0
		if c == next && c < len(r.columns) {
			next++
		} else if !again {
			return errors.New("damaged Parquet file: a row does not have each column")
		}
		column := &r.columns[c]
		absent := v.DefinitionLevel() < column.MaxDefinitionLevel
		if v.IsNull() != absent || !absent && v.Kind() != column.Node.Type().Kind() {
			return fmt.Errorf("damaged Parquet file: a value does not fit column %s", strings.Join(column.Path, "."))
		}
	}
	if next < len(r.columns) {
		return errors.New("damaged Parquet file: a row does not have each column")
	}
	return nil
}

// columnsOf returns the columns of a schema, by number.
func columnsOf(s *parquet.Schema) []parquet.LeafColumn {
	var columns []parquet.LeafColumn
	for _, path := range s.Columns() {
		column, _ := s.Lookup(path...)
		columns = append(columns, column)
	}
	return columns
}

func (r *reader) close() { _ = r.rows.Close() } // it was only read

// runsOf returns the runs of a file. A file that does not exist has none.
func (t *Table) runsOf(path string) (map[string]bool, error) {
	out, column := map[string]bool{}, t.column("run_id").ColumnIndex
	err := t.each(path, func(row parquet.Row) error {
		out[text(row, column)] = true
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return out, err
}

// text is a string of a row, in a column outside lists.
func text(row parquet.Row, column int) string { return string(value(row, column).ByteArray()) }

// value is the first value of a column.
func value(row parquet.Row, column int) parquet.Value {
	for _, v := range row {
		if v.Column() == column {
			return v
		}
	}
	return parquet.Value{}
}
