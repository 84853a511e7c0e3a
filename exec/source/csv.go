package source

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// csvChunk is how much of a file is a unit.
var csvChunk int64 = 32 << 20

// fileShift leaves room in Batch.Seq for the rows of a file before the number
// of the file.
const fileShift = 40

// csvTable is read_csv: delimited text whose columns are given or found out
// from the first rows of the first file.
type csvTable struct {
	s      *Sources
	files  []file
	opts   copyfmt.Options
	values csvValues
	cols   []plan.Column
	lax    bool // a record that is no row is left out
	est    float64
	// places are by file, where columns stand in different places: which column of the table each of
	// its columns is. nil: as in the table.
	places [][]int
	// starts[i] is the first unit of file i; the last entry is the number of all.
	starts []int64
}

// csvArgs are the arguments about the text of files.
var csvArgs = []string{"path", "header", "delim|sep|delimiter", "nullstr|null", "quote", "escape", "columns", "names|column_names", "types|dtypes|column_types", "all_varchar",
	"sample_size", "union_by_name", "skip", "dateformat|date_format", "timestampformat|timestamp_format", "decimal_separator", "thousands", "encoding", "compression"}

func newCSV(s *Sources, a *args) (table, error) {
	if !a.names(slices.Concat(csvArgs, []string{"ignore_errors", "store_rejects", "rejects_table"}, labelArgs)...) {
		return nil, a.err
	}
	for _, name := range []string{"store_rejects", "rejects_table"} {
		if _, given := a.get(name); given {
			return nil, pgerr.Unsupported("argument %q of read_csv is not supported: a query writes nothing", name).
				WithHint("With ignore_errors => true records that are no rows are left out; read_csv_rejects, with the other arguments, lists them.")
		}
	}
	t, err := s.csv(a)
	if err != nil {
		return nil, err
	}
	t.lax = a.bool("ignore_errors", false)
	return label(t, a)
}

// csv is the table of read_csv, whose arguments are known.
func (s *Sources) csv(a *args) (*csvTable, error) {
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	sn, err := s.sniffed(files[0], a)
	if err != nil {
		return nil, err
	}
	t := &csvTable{s: s, files: files, opts: sn.opts, values: sn.values, cols: sn.cols}
	if err := t.align(sn, a); err != nil {
		return nil, err
	}
	for _, f := range files {
		n := int64(1)
		if t.splittable(f) {
			n = (f.size + csvChunk - 1) / csvChunk
		}
		if len(t.starts) == 0 {
			t.starts = []int64{0}
		}
		t.starts = append(t.starts, t.starts[len(t.starts)-1]+n)
		size := float64(f.size)
		if f.packed() {
			size *= 4
		}
		t.est += size / sn.width
	}
	return t, nil
}

// sniffed is what was found out about a file, with the arguments that were given.
func (s *Sources) sniffed(f file, a *args) (*sniffed, error) {
	key := "csv\x00" + f.key
	for _, p := range a.list {
		key += "\x00" + p.Name + "=" + types.TextOf(p.Type, p.Val, types.DefaultEnv)
	}
	return remember(s, key, func() (*sniffed, int, error) {
		sn, err := sniff(f, a)
		if err != nil {
			return nil, 0, err
		}
		return sn, len(sn.cols), nil
	})
}

// splittable reports whether the records of a file can be found from the middle: that takes
// counting the quotes before, which is not enough if the escape is not the quote.
func (t *csvTable) splittable(f file) bool {
	return !f.packed() && f.charset == nil && f.size > csvChunk && t.opts.Quote == t.opts.Escape && t.opts.Ends != copyfmt.EndCR
}

func (t *csvTable) columns() []plan.Column { return t.cols }
func (t *csvTable) rows() float64          { return t.est }
func (t *csvTable) from() []file           { return t.files }
func (t *csvTable) units() int64           { return t.starts[len(t.starts)-1] }
func (t *csvTable) fileOf(unit int64) int  { return fileOf(t.starts, unit) }
func (t *csvTable) perPart() int64         { return 1 }

func (t *csvTable) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	r := &units{next: from, end: to}
	r.open = func(ctx context.Context, u int64) (op.BatchReader, error) {
		i := fileOf(t.starts, u)
		c, err := t.open(ctx, i, u-t.starts[i], cols, r.pool)
		if err != nil {
			return nil, err
		}
		if t.lax {
			c.dec.Reject(func(copyfmt.Reject) {})
		}
		return c, nil
	}
	return r, nil
}

// open reads one chunk of a file.
func (t *csvTable) open(ctx context.Context, i int, chunk int64, cols []int, pool *mem.Pool) (*csvReader, error) {
	f := t.files[i]
	opts := t.opts
	r := &csvReader{seq: int64(i) << fileShift}
	line := int64(0)
	h, err := openText(ctx, f)
	if err != nil {
		return nil, err
	}
	r.closer = h
	var in io.Reader = named{h, f.path}
	if t.splittable(f) {
		marks, err := remember(t.s, "marks\x00"+string([]byte{opts.Quote})+itoa(csvChunk)+" "+itoa(int64(opts.Skip))+f.key, func() ([]mark, int, error) {
			marks, err := findMarks(ctx, f, opts.Quote, opts.Skip)
			return marks, len(marks), err
		})
		if err != nil {
			_ = h.Close()
			return nil, err
		}
		from, to := marks[chunk], marks[chunk+1]
		if _, err := h.(io.Seeker).Seek(from.offset, io.SeekStart); err != nil {
			_ = h.Close()
			return nil, ReadError(f.path, err)
		}
		in = named{io.LimitReader(h, to.offset-from.offset), f.path}
		r.seq += from.records
		if chunk > 0 {
			if opts.Header {
				r.seq--
			}
			opts.Header, opts.Skip = false, 0
			line = from.lines
		}
	}
	// A column that is not needed is read as text, which cannot fail; where records may be left out, all
	// columns say which.
	places := t.placesOf(i)
	dec := make([]copyfmt.Column, len(places))
	for j, c := range places {
		dec[j] = copyfmt.Column{Name: t.cols[c].Name, Type: types.Text}
		if t.lax {
			dec[j].Type = t.cols[c].Type
		}
	}
	for _, c := range cols {
		j := slices.Index(places, c)
		if j >= 0 {
			dec[j].Type = t.cols[c].Type
		}
		r.cols, r.types = append(r.cols, j), append(r.types, t.cols[c].Type)
	}
	if r.dec, err = copyfmt.NewDecoder(skipBOM(in, chunk == 0), dec, opts, types.DefaultEnv, batch.DefaultSize, f.path); err != nil {
		_ = h.Close()
		return nil, err
	}
	r.dec.StartAt(line)
	for j, c := range dec {
		if conv := t.values.conversion(c.Type); conv != nil {
			r.dec.Convert(j, conv)
		}
	}
	if pool != nil {
		r.acct = pool.Account("records of file "+strconv.Quote(f.path), false)
		r.dec.Charge(r.acct)
	}
	return r, nil
}

type csvReader struct {
	dec    *copyfmt.Decoder
	closer io.Closer
	cols   []int // of the file; -1 for one that it lacks
	types  []types.Type
	seq    int64
	acct   *mem.Account // may be nil
}

func (r *csvReader) Next(context.Context) (*batch.Batch, error) {
	b, err := r.dec.Next()
	if err != nil {
		return nil, err
	}
	out := make([]arrow.Array, len(r.cols))
	for i, j := range r.cols {
		if j < 0 {
			out[i] = batch.Nulls(r.types[i].Arrow(), b.N)
		} else {
			out[i] = b.Cols[j]
		}
	}
	nb := b.With(out)
	nb.Seq = r.seq
	r.seq += int64(b.N)
	return nb, nil
}

func (r *csvReader) Close() error {
	if r.closer == nil {
		return nil
	}
	err := r.closer.Close()
	r.closer = nil
	if r.acct != nil {
		r.acct.Close()
	}
	return err
}

var bom = []byte("\xef\xbb\xbf")

// skipBOM leaves out a byte order mark at the beginning.
func skipBOM(r io.Reader, first bool) io.Reader {
	if !first {
		return r
	}
	head := make([]byte, len(bom))
	n, err := io.ReadFull(r, head)
	if n == len(bom) && bytes.Equal(head, bom) {
		return r
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return io.MultiReader(bytes.NewReader(head[:n]), failing{err})
	}
	return io.MultiReader(bytes.NewReader(head[:n]), r)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// mark is where a chunk's first record begins, and how many records and lines are before it.
type mark struct{ offset, records, lines int64 }

// findMarks reads a file once to find where records begin: a line end within quotes does not count.
// There is a mark a chunk and one for the end.
func findMarks(ctx context.Context, f file, quote byte, skip int) ([]mark, error) {
	h, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }()
	chunks := (f.size + csvChunk - 1) / csvChunk
	marks := make([]mark, 1, chunks+1)
	buf := make([]byte, 1<<20)
	var at, records, other int64 // lines that are no ends of records
	quoted := false
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := h.Read(buf)
		for rest, base := buf[:n], at; len(rest) > 0; {
			if skip > 0 {
				i := bytes.IndexByte(rest, '\n')
				if i < 0 {
					break
				}
				rest, base = rest[i+1:], base+int64(i+1)
				skip--
				other++
				continue
			}
			run := rest
			q := bytes.IndexByte(rest, quote)
			if q >= 0 {
				run = rest[:q]
			}
			if quoted {
				other += int64(bytes.Count(run, []byte{'\n'}))
			} else {
				marks, records = markLines(run, base, records, other, marks)
			}
			if q < 0 {
				break
			}
			quoted = !quoted
			rest = rest[q+1:]
			base += int64(q + 1)
		}
		at += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, ReadError(f.path, err)
		}
	}
	for int64(len(marks)) <= chunks {
		marks = append(marks, mark{at, records, records + other}) // chunks in which no record begins
	}
	return marks, nil
}

// markLines counts the line ends of an unquoted run that begins at offset base.
func markLines(run []byte, base, records, other int64, marks []mark) ([]mark, int64) {
	for len(run) > 0 {
		next := int64(len(marks)) * csvChunk
		if base+int64(len(run)) < next {
			return marks, records + int64(bytes.Count(run, []byte{'\n'}))
		}
		// The first record that begins at or after next is the chunk's.
		skip := max(0, min(int64(len(run)), next-1-base))
		records += int64(bytes.Count(run[:skip], []byte{'\n'}))
		run, base = run[skip:], base+skip
		i := bytes.IndexByte(run, '\n')
		if i < 0 {
			return marks, records
		}
		records++
		run, base = run[i+1:], base+int64(i+1)
		for base >= int64(len(marks))*csvChunk {
			marks = append(marks, mark{base, records, records + other})
		}
	}
	return marks, records
}

// parseType reads a type by its name, with a modifier.
func parseType(text string) (types.Type, error) {
	name, mods := strings.TrimSpace(text), []int32(nil)
	if i := strings.IndexByte(name, '('); i > 0 {
		j := strings.IndexByte(name, ')')
		if j < i {
			return types.Type{}, pgerr.New(pgerr.SyntaxError, "invalid type name \"%s\"", text)
		}
		for _, m := range strings.Split(name[i+1:j], ",") {
			n, ok := wholeNumber(strings.TrimSpace(m))
			if !ok || n > 1<<30 {
				return types.Type{}, pgerr.New(pgerr.SyntaxError, "invalid type name \"%s\"", text)
			}
			mods = append(mods, int32(n))
		}
		name = name[:i] + name[j+1:]
	}
	oid, ok := types.ByName(strings.ToLower(name))
	if !ok {
		return types.Type{}, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", text)
	}
	t := types.Type{OID: oid, Mod: -1}
	if mods != nil {
		var err error
		if t.Mod, err = types.TypmodIn(oid, mods); err != nil {
			return t, err
		}
	}
	if p, s, ok := number.NumericMod(t.Mod); oid == types.NumericOID && ok && p <= types.MaxFixedDigits && s >= 0 && s <= p {
		t = types.FixedNumeric(uint8(p), uint8(s), true)
	}
	return t, nil
}
