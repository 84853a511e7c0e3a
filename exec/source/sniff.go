package source

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sniffed is what is found out about a CSV file.
type sniffed struct {
	opts   copyfmt.Options
	values csvValues
	cols   []plan.Column
	blank  []bool  // of each column, whether no value was seen
	width  float64 // bytes a record
}

const (
	sampleBytes = 4 << 20
	sampleRows  = 20480
)

// sniff reads the beginning of a file and fills in what the arguments leave
// open: delimiter, header, names and types.
func sniff(f file, a *args) (*sniffed, error) {
	r, err := openText(a.ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, sampleBytes))
	if err != nil {
		return nil, ReadError(f.path, err)
	}
	text = bytes.TrimPrefix(text, bom)
	whole := len(text) < sampleBytes
	limit := int(a.int("sample_size", sampleRows, -1, math.MaxInt32))
	if limit <= 0 {
		limit = math.MaxInt32
	}
	skip := int(a.int("skip", 0, 0, math.MaxInt32))
	opts := []copyfmt.Option{{Name: "format", Value: "csv"}}
	for _, o := range []struct{ arg, option string }{{"delim", "delimiter"}, {"nullstr", "null"}, {"quote", "quote"}, {"escape", "escape"}} {
		if _, ok := a.get(o.arg); ok {
			opts = append(opts, copyfmt.Option{Name: o.option, Value: a.text(o.arg, "")})
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	sn := &sniffed{values: a.values()}
	if a.err != nil {
		return nil, a.err
	}
	if sn.opts, err = copyfmt.ParseOptions(opts, true); err != nil {
		return nil, err
	}
	if sn.opts.Ends = copyfmt.EndAny; sn.opts.FirstEnd(text, !whole) == copyfmt.EndCR {
		sn.opts.Ends = copyfmt.EndCR
	}
	sn.opts.Skip, sn.opts.Blank = skip, true
	text = afterLines(text, sn.opts)
	_, delim := a.get("delim")
	_, quote := a.get("quote")
	some := a.bool("ignore_errors", false)
	if !delim {
		sn.opts.Delimiter, _ = sn.guessDelimiter(text, whole, some)
	}
	if !delim && !quote && bytes.IndexByte(text, '\'') >= 0 {
		sn.guessQuote(text, whole, some)
	}
	recs := split(text, sn.opts, whole, limit)
	sn.width = 50
	if len(recs) > 0 {
		sn.width = max(1, float64(len(text))/float64(len(recs)))
		if len(recs) == limit {
			sn.width = max(1, float64(recs[len(recs)-1].end)/float64(limit))
		}
	}
	if err := sn.shape(f, a, recs); err != nil {
		return nil, err
	}
	return sn, nil
}

// afterLines is what follows the lines that are skipped.
func afterLines(text []byte, o copyfmt.Options) []byte {
	for range o.Skip {
		i := bytes.IndexByte(text, o.Ends.Last())
		if i < 0 {
			return nil
		}
		text = text[i+1:]
	}
	return text
}

// shape determines header, names and types.
func (sn *sniffed) shape(f file, a *args, recs []record) error {
	given, err := givenColumns(a)
	if err != nil {
		return err
	}
	if given != nil {
		_, told := a.get("header")
		sn.opts.Header = a.bool("header", false)
		if !told && len(recs) > 0 && len(recs[0].fields) == len(given) {
			// A first record of just these names is a header.
			sn.opts.Header = true
			for i, c := range given {
				sn.opts.Header = sn.opts.Header && strings.EqualFold(recs[0].fields[i].text, c.Name)
			}
		}
		sn.cols = given
		return a.err
	}
	if len(recs) == 0 {
		return pgerr.New(pgerr.BadCopyFileFormat, "file %q is empty: its columns cannot be told", f.path).
			WithHint("Give them with the argument \"columns\".")
	}
	n := len(recs[0].fields)
	if n > maxFileColumns {
		return pgerr.New(pgerr.TooManyColumns, "file %q has more than %d columns", f.path, maxFileColumns)
	}
	sn.opts.Header = a.bool("header", sn.looksLikeHeader(recs))
	names, rows := []string(nil), recs
	if sn.opts.Header {
		for _, c := range recs[0].fields {
			names = append(names, c.text)
		}
		rows = recs[1:]
	}
	if own := a.texts("names"); own != nil {
		if len(own) != n {
			a.bad("names", "must have %d names", n)
		}
		names = own
	}
	if a.err != nil {
		return a.err
	}
	names = columnNames(n, names)
	for i := range n {
		g := guess{values: sn.values}
		for _, r := range rows {
			if i < len(r.fields) && !(r.fields[i].text == sn.opts.Null && !r.fields[i].quoted) {
				g.see(r.fields[i].text)
			}
		}
		t := g.typ()
		if a.bool("all_varchar", false) {
			t = types.Text
		}
		sn.cols = append(sn.cols, plan.Column{Name: names[i], Type: t})
		sn.blank = append(sn.blank, g.n == 0)
	}
	return sn.applyTypes(a)
}

// columnNames makes n names of those that a file gives: what is empty is called by its place, what
// there was already gets a number.
func columnNames(n int, given []string) []string {
	names, taken := make([]string, n), map[string]bool{}
	for i := range names {
		name := "column" + itoa(int64(i))
		if i < len(given) && strings.TrimSpace(given[i]) != "" {
			name = types.TruncateName(strings.TrimSpace(given[i]))
		}
		base := name
		for k := 1; taken[name]; k++ {
			name = base + "_" + itoa(int64(k))
		}
		names[i], taken[name] = name, true
	}
	return names
}

// applyTypes applies the argument types: one a column, in order.
func (sn *sniffed) applyTypes(a *args) error {
	own := a.texts("types")
	if own != nil && len(own) != len(sn.cols) {
		a.bad("types", "must have %d types", len(sn.cols))
	}
	if a.err != nil {
		return a.err
	}
	for i, t := range own {
		var err error
		if sn.cols[i].Type, err = parseType(t); err != nil {
			return err
		}
	}
	return nil
}

// givenColumns reads the argument columns: 'a int, b numeric(10,2)', or an
// array of such.
func givenColumns(a *args) ([]plan.Column, error) {
	list := a.texts("columns")
	if len(list) == 1 {
		list = splitList(list[0])
	}
	var out []plan.Column
	for _, c := range list {
		name, typ := cutName(strings.TrimSpace(c))
		if name == "" || typ == "" {
			a.bad("columns", "must list names and types, as in 'a int, b text'")
			return nil, a.err
		}
		t, err := parseType(typ)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.Column{Name: name, Type: t})
	}
	return out, a.err
}

// splitList splits at commas outside parentheses and quotes.
func splitList(s string) []string {
	var out []string
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

func cutName(c string) (name, typ string) {
	if strings.HasPrefix(c, `"`) {
		if i := strings.IndexByte(c[1:], '"'); i >= 0 {
			return c[1 : i+1], strings.TrimSpace(c[i+2:])
		}
		return "", ""
	}
	name, typ, _ = strings.Cut(c, " ")
	return strings.ToLower(name), strings.TrimSpace(typ)
}

// field and record are of the sample; end is the record's offset after it.
type field struct {
	text   string
	quoted bool
}

type record struct {
	fields []field
	end    int
}

// split cuts the sample into records; an unfinished one at the end is left out
// unless the sample is the whole file.
func split(text []byte, o copyfmt.Options, whole bool, limit int) []record {
	var out []record
	var cur []field
	var buf []byte
	quoted, in, end := false, false, o.Ends.Last()
	for i := 0; i < len(text) && len(out) < limit; i++ {
		c := text[i]
		switch {
		case in && c == o.Escape && i+1 < len(text) && (text[i+1] == o.Quote || text[i+1] == o.Escape):
			i++
			buf = append(buf, text[i])
		case c == o.Quote:
			in = !in
			quoted = true
		case !in && (c == o.Delimiter || c == end):
			if c == '\n' && c == end && len(buf) > 0 && buf[len(buf)-1] == '\r' {
				buf = buf[:len(buf)-1]
			}
			cur = append(cur, field{string(buf), quoted})
			buf, quoted = buf[:0], false
			if c == end {
				if !o.Blank || len(cur) > 1 || cur[0].text != "" || cur[0].quoted {
					out = append(out, record{cur, i + 1})
				}
				cur = nil
			}
		default:
			buf = append(buf, c)
		}
	}
	if whole && len(out) < limit && (len(cur) > 0 || len(buf) > 0) {
		out = append(out, record{append(cur, field{strings.TrimSuffix(string(buf), "\r"), quoted}), len(text)})
	}
	return out
}

// guessDelimiter takes the one that cuts the first records into the same number of fields, the most of
// them; the comma where none does. With some, a fifth of the records may differ. What numbers are written
// with is not tried.
func (sn *sniffed) guessDelimiter(text []byte, whole, some bool) (best byte, most int) {
	o := sn.opts
	best, most = o.Delimiter, 1
	if best == sn.values.decimal || best == sn.values.thousands {
		best = ';' // as it is where commas are in numbers
	}
	for _, d := range []byte{',', '\t', ';', '|'} {
		if d == sn.values.decimal || d == sn.values.thousands {
			continue
		}
		o.Delimiter = d
		recs := split(text, o, whole, 50)
		same := 0
		for _, r := range recs {
			if len(r.fields) == len(recs[0].fields) {
				same++
			}
		}
		if len(recs) > 0 && (same == len(recs) || some && 5*same >= 4*len(recs)) && len(recs[0].fields) > most {
			best, most = d, len(recs[0].fields)
		}
	}
	return best, most
}

// guessQuote takes the apostrophe for the quote where no delimiter cuts the records alike, and one does so.
func (sn *sniffed) guessQuote(text []byte, whole, some bool) {
	if _, n := sn.guessDelimiter(text, whole, some); n > 1 || sn.opts.Quote != '"' || sn.opts.Escape != '"' {
		return
	}
	was := sn.opts
	sn.opts.Quote, sn.opts.Escape = '\'', '\''
	d, n := sn.guessDelimiter(text, whole, some)
	if sn.opts.Delimiter = d; n == 1 {
		sn.opts = was
	}
}

// looksLikeHeader takes a first record of words for names. Where some are empty or occur twice there
// must be another sign: values below that are no words, or an empty first name alone, as pandas writes
// it over the index.
func (sn *sniffed) looksLikeHeader(recs []record) bool {
	null := sn.opts.Null
	first := recs[0].fields
	var seen []string
	blank, twice := 0, false
	for _, f := range first {
		if f.text == null || strings.TrimSpace(f.text) == "" {
			blank++
			continue
		}
		g := guess{values: sn.values}
		if g.see(f.text); g.typ().OID != types.TextOID {
			return false
		}
		twice = twice || slices.Contains(seen, f.text)
		seen = append(seen, f.text)
	}
	switch {
	case len(seen) == 0:
		return false
	case blank == 0 && !twice:
		return true
	case blank == 1 && !twice && strings.TrimSpace(first[0].text) == "" && len(recs) > 1 && strings.TrimSpace(recs[1].fields[0].text) != "":
		return true
	}
	for i := range first {
		g := guess{values: sn.values}
		for _, r := range recs[1:] {
			if i < len(r.fields) && r.fields[i].text != null {
				g.see(r.fields[i].text)
			}
		}
		if g.n > 0 && g.typ().OID != types.TextOID {
			return true
		}
	}
	return false
}
