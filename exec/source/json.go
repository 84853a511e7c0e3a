package source

import (
	"bufio"
	"context"
	stdjson "encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// jsonSampledFiles is the number of files that are searched for columns, unless union_by_name asks for all.
const jsonSampledFiles = 32

// jsonTable is read_json: files that hold an array of objects, or objects one
// after the other (newline-delimited or not). A file is a unit. Its columns are the members of the
// sampled objects of all sampled files; an object that lacks one has NULL there.
type jsonTable struct {
	files []file
	cols  []plan.Column
	est   float64
}

func newJSON(s *Sources, a *args) (table, error) {
	if !a.names(slices.Concat([]string{"path", "columns", "sample_size", "union_by_name", "encoding", "compression"}, labelArgs)...) {
		return nil, a.err
	}
	limit := int(a.int("sample_size", sampleRows, -1, math.MaxInt32))
	given, err := givenColumns(a)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return nil, err
	}
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	all := a.bool("union_by_name", false)
	t := &jsonTable{files: files, cols: given}
	members, width := &jsonMembers{}, 0.0
	for k, f := range files {
		if k > 0 && (given != nil || !all && k >= jsonSampledFiles) {
			break
		}
		m, err := remember(s, "json\x00"+itoa(int64(limit))+f.key, func() (*jsonMembers, int, error) {
			m, err := sniffJSON(a.ctx, f, limit)
			if err != nil {
				return nil, 0, err
			}
			return m, len(m.names), nil
		})
		if err != nil {
			return nil, err
		}
		members.merge(m)
		width = max(width, m.width)
	}
	if given == nil {
		t.cols = members.columns()
	}
	if len(t.cols) == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "file %q has no objects: its columns cannot be told", files[0].path).
			WithHint("Give them with the argument \"columns\".")
	}
	for _, x := range files {
		t.est += float64(x.size) / width
	}
	return label(t, a)
}

func (t *jsonTable) columns() []plan.Column { return t.cols }
func (t *jsonTable) rows() float64          { return t.est }
func (t *jsonTable) from() []file           { return t.files }
func (t *jsonTable) units() int64           { return int64(len(t.files)) }
func (t *jsonTable) perPart() int64         { return 1 }
func (t *jsonTable) fileOf(unit int64) int  { return int(unit) }

func (t *jsonTable) read(_ context.Context, from, to int64, cols []int, want []plan.Column) (op.BatchReader, error) {
	names := map[string][]int{}
	for i, c := range cols {
		names[t.cols[c].Name] = append(names[t.cols[c].Name], i)
	}
	return &units{next: from, end: to, open: func(ctx context.Context, u int64) (op.BatchReader, error) {
		o, err := openObjects(ctx, t.files[u])
		if err != nil {
			return nil, err
		}
		r := &jsonReader{o: o, names: names, seq: u << fileShift}
		for i, c := range cols {
			r.types = append(r.types, want[i].Type)
			r.builders = append(r.builders, array.NewBuilder(memory.DefaultAllocator, t.cols[c].Type.Arrow()))
		}
		return r, nil
	}}, nil
}

// objects reads the objects of a file, one after the other.
type objects struct {
	f     file
	r     io.ReadCloser
	dec   *stdjson.Decoder
	array bool
	n     int64
}

func openObjects(ctx context.Context, f file) (*objects, error) {
	r, err := openText(ctx, f)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(skipBOM(named{r, f.path}, true), 1<<18)
	o := &objects{f: f, r: r, dec: stdjson.NewDecoder(br)}
	for {
		c, err := br.Peek(1)
		if err != nil {
			return o, nil // empty, or Next returns the error
		}
		switch c[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = br.ReadByte()
			continue
		case '[':
			o.array = true
			_, err = o.dec.Token()
		}
		return o, err
	}
}

// next returns one object, io.EOF at the end.
func (o *objects) next() (json.Value, error) {
	var raw stdjson.RawMessage
	if o.array && !o.dec.More() {
		if _, err := o.dec.Token(); err != nil {
			return json.Value{}, o.bad(err)
		}
		return json.Value{}, io.EOF
	}
	if err := o.dec.Decode(&raw); err != nil {
		if err == io.EOF && !o.array {
			return json.Value{}, io.EOF
		}
		return json.Value{}, o.bad(err)
	}
	o.n++
	text := string(raw)
	if err := pgerr.CheckUTF8(text); err != nil {
		return json.Value{}, o.where(err)
	}
	v, err := json.ParseJSON(text)
	if err != nil {
		return v, o.where(err)
	}
	if v.Kind != json.Object {
		return v, o.where(pgerr.New(pgerr.InvalidJSONText, "expected a JSON object, found %s", v.TypeOf()))
	}
	return v, nil
}

func (o *objects) bad(err error) error {
	var e *pgerr.Error
	if errors.As(err, &e) {
		return err
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return o.where(pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail("The input string ended unexpectedly."))
	}
	return o.where(pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail("%v", err))
}

func (o *objects) where(err error) error {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Where = "file " + o.f.path + ", object " + itoa(o.n)
	return &c
}

// jsonMembers are the members of objects, in order of appearance, and what their values look like.
type jsonMembers struct {
	names []string
	seen  map[string]*jsonGuess
	width float64 // the bytes of an object
}

func (m *jsonMembers) of(name string) *jsonGuess {
	g := m.seen[name]
	if g == nil {
		g = &jsonGuess{}
		if m.seen == nil {
			m.seen = map[string]*jsonGuess{}
		}
		m.seen[name] = g
		m.names = append(m.names, name)
	}
	return g
}

// merge adds what was seen in another file, which stays as it is.
func (m *jsonMembers) merge(o *jsonMembers) {
	for _, name := range o.names {
		m.of(name).merge(o.seen[name])
	}
}

func (m *jsonMembers) columns() []plan.Column {
	cols := make([]plan.Column, len(m.names))
	for i, name := range m.names {
		cols[i] = plan.Column{Name: name, Type: m.seen[name].typ()}
	}
	return cols
}

// sniffJSON looks at the first objects of a file.
func sniffJSON(ctx context.Context, f file, limit int) (*jsonMembers, error) {
	o, err := openObjects(ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.r.Close() }()
	if limit <= 0 {
		limit = math.MaxInt32
	}
	m := &jsonMembers{width: 100}
	n := 0
	for ; n < limit; n++ {
		v, err := o.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, k := range v.Keys {
			m.of(k).see(v.Elems[i])
		}
	}
	if n > 0 {
		m.width = max(1, float64(o.dec.InputOffset())/float64(n))
	}
	return m, nil
}

// jsonGuess narrows down the type of a member.
type jsonGuess struct {
	bools, ints, floats, strings, nested int
	text                                 guess
}

func (g *jsonGuess) see(v json.Value) {
	switch v.Kind {
	case json.Bool:
		g.bools++
	case json.Number:
		if _, ok := v.Num.Int64(); ok && v.Num.Scale() <= 0 {
			g.ints++
		} else {
			g.floats++
		}
	case json.String:
		g.strings++
		g.text.see(v.Str)
	case json.Array, json.Object:
		g.nested++
	}
}

func (g *jsonGuess) merge(o *jsonGuess) {
	g.bools, g.ints, g.floats = g.bools+o.bools, g.ints+o.ints, g.floats+o.floats
	g.strings, g.nested = g.strings+o.strings, g.nested+o.nested
	g.text.notDate, g.text.notStamp = g.text.notDate || o.text.notDate, g.text.notStamp || o.text.notStamp
}

func (g *jsonGuess) typ() types.Type {
	kinds := 0
	for _, n := range []int{g.bools, g.ints + g.floats, g.strings, g.nested} {
		if n > 0 {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return types.Text
	case g.nested > 0:
		return types.JSONB
	case kinds > 1:
		return types.Text
	case g.bools > 0:
		return types.Bool
	case g.floats > 0:
		return types.Float8
	case g.ints > 0:
		return types.Int8
	case !g.text.notDate:
		return types.Date
	case !g.text.notStamp:
		return types.Timestamp
	}
	return types.Text
}

type jsonReader struct {
	o        *objects
	names    map[string][]int
	types    []types.Type
	builders []array.Builder
	seq      int64
	done     bool
}

func (r *jsonReader) Next(context.Context) (*batch.Batch, error) {
	n := 0
	for !r.done && n < batch.DefaultSize {
		v, err := r.o.next()
		if err == io.EOF {
			r.done = true
			break
		}
		if err != nil {
			return nil, err
		}
		if err := r.row(v); err != nil {
			return nil, err
		}
		n++
	}
	if n == 0 {
		return nil, io.EOF
	}
	out := make([]arrow.Array, len(r.builders))
	for i, b := range r.builders {
		out[i] = b.NewArray()
	}
	b := batch.New(out, n)
	b.Seq = r.seq
	r.seq += int64(n)
	return b, nil
}

func (r *jsonReader) row(v json.Value) error {
	vals := make([]types.Datum, len(r.builders))
	for i, k := range v.Keys {
		for _, c := range r.names[k] {
			d, err := jsonDatum(r.types[c], v.Elems[i])
			if err != nil {
				var e *pgerr.Error
				if errors.As(r.o.where(err), &e) {
					e.Where += ", member " + k
					return e
				}
				return err
			}
			vals[c] = d
		}
	}
	for c, b := range r.builders {
		if err := types.AppendDatum(b, r.types[c], vals[c]); err != nil {
			return r.o.where(err)
		}
	}
	return nil
}

// jsonDatum makes a column's value of a member's.
func jsonDatum(t types.Type, v json.Value) (types.Datum, error) {
	if v.Kind == json.Null {
		return nil, nil
	}
	switch t.Class() {
	case types.ClassJSONB:
		return json.CanonicalJSONB(v.String())
	case types.ClassJSON:
		return string(v.AppendCompact(nil)), nil
	case types.ClassBool:
		if v.Kind == json.Bool {
			return v.Bool, nil
		}
	case types.ClassInteger:
		if n, ok := v.Num.Int64(); t == types.Int8 && v.Kind == json.Number && ok && v.Num.Scale() <= 0 {
			return n, nil
		}
	case types.ClassFloat:
		if t == types.Float8 && v.Kind == json.Number {
			return v.Num.ToFloat(64)
		}
	}
	s := v.String()
	if v.Kind == json.String {
		s = v.Str
	}
	if e, ok := t.Elem(); ok && v.Kind == json.Array {
		a := types.Array{Elem: e}
		for _, x := range v.Elems {
			d, err := jsonDatum(e, x)
			if err != nil {
				return nil, err
			}
			a.Elems = append(a.Elems, d)
		}
		return a, nil
	}
	if t.OID == types.TextOID {
		return strings.ToValidUTF8(s, "\uFFFD"), nil
	}
	d, err := types.ParseText(t, s, types.DefaultEnv)
	if err != nil {
		return nil, err
	}
	return types.ApplyMod(t, d, false)
}

func (r *jsonReader) Close() error {
	r.done = true
	if r.o.r == nil {
		return nil
	}
	err := r.o.r.Close()
	r.o.r = nil
	return err
}
