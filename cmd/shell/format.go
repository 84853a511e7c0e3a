package shell

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// format is how results are printed; its names are those of psql's \pset.
type format struct {
	kind      string // of kinds
	expanded  string // on, off or auto
	tuples    bool   // rows alone, without heads and counts
	footer    bool
	null      string
	title     string
	border    int
	fieldsep  string
	recordsep string
	csvsep    string
	pager     string // on, off or always
	footers   []string
}

var kinds = []string{"aligned", "unaligned", "csv", "json", "markdown", "html"}

func newFormat() format {
	return format{kind: "aligned", expanded: "off", footer: true, border: 1, fieldsep: "|", recordsep: "\n", csvsep: ",", pager: "on"}
}

type column struct {
	name  string
	oid   uint32
	right bool // numbers
}

// printer prints the rows of a result as they come. A value is nil where it is NULL, and is not kept.
type printer interface {
	row(vals [][]byte)
	end(rows int64)
}

// printer returns what prints a result; screen is the terminal's width, 0 where there is none.
func (f *format) printer(w *bufio.Writer, cols []column, screen int) printer {
	switch f.kind {
	case "unaligned":
		return newUnaligned(f, w, cols)
	case "csv":
		return newCSV(f, w, cols)
	case "json":
		return newJSON(w, cols)
	case "markdown":
		return newMarkdown(f, w, cols)
	case "html":
		return newHTML(f, w, cols)
	}
	return newAligned(f, w, cols, screen)
}

// set changes one setting, as \pset does. An empty value means the next one of a toggle.
func (f *format) set(name, value string, given bool) error {
	toggle := func(v *bool) error {
		switch {
		case !given:
			*v = !*v
		case slices.Contains(yes, strings.ToLower(value)):
			*v = true
		case slices.Contains(no, strings.ToLower(value)):
			*v = false
		default:
			return fmt.Errorf("unrecognized value %q for %q: Boolean expected", value, name)
		}
		return nil
	}
	text := func(v *string) error {
		if given {
			*v = value
		}
		return nil
	}
	switch name {
	case "format":
		if !given {
			return nil
		}
		if value == "vertical" {
			f.kind, f.expanded = "aligned", "on"
			return nil
		}
		for _, k := range kinds {
			if value != "" && strings.HasPrefix(k, value) {
				f.kind = k
				return nil
			}
		}
		return fmt.Errorf(`\pset: allowed formats are %s, vertical`, strings.Join(kinds, ", "))
	case "expanded", "x", "vertical":
		if given && value == "auto" {
			f.expanded = "auto"
			return nil
		}
		on := f.expanded == "on"
		if err := toggle(&on); err != nil {
			return err
		}
		if f.expanded = "off"; on {
			f.expanded = "on"
		}
		return nil
	case "tuples_only", "t":
		return toggle(&f.tuples)
	case "footer":
		return toggle(&f.footer)
	case "null":
		return text(&f.null)
	case "title", "C":
		f.title = value
		return nil
	case "fieldsep":
		return text(&f.fieldsep)
	case "fieldsep_zero":
		f.fieldsep = "\x00"
		return nil
	case "recordsep":
		return text(&f.recordsep)
	case "recordsep_zero":
		f.recordsep = "\x00"
		return nil
	case "csv_fieldsep":
		if given && (len(value) != 1 || strings.Contains("\"\n\r", value)) {
			return fmt.Errorf(`\pset: csv_fieldsep must be a single one-byte character`)
		}
		return text(&f.csvsep)
	case "border":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= 2 {
			f.border = n
			return nil
		}
		return fmt.Errorf(`\pset: border is 0, 1 or 2`)
	case "pager":
		if given && value == "always" {
			f.pager = "always"
			return nil
		}
		on := f.pager != "off"
		if err := toggle(&on); err != nil {
			return err
		}
		if f.pager = "off"; on {
			f.pager = "on"
		}
		return nil
	}
	return fmt.Errorf(`\pset: unknown option: %s`, name)
}

// settings are the names that \pset lists, with their values.
func (f *format) settings() [][2]string {
	word := map[bool]string{true: "on", false: "off"}
	return [][2]string{{"border", strconv.Itoa(f.border)}, {"csv_fieldsep", "'" + f.csvsep + "'"}, {"expanded", f.expanded}, {"fieldsep", "'" + f.fieldsep + "'"},
		{"footer", word[f.footer]}, {"format", f.kind}, {"null", "'" + f.null + "'"}, {"pager", f.pager}, {"recordsep", strconv.Quote(f.recordsep)},
		{"title", f.title}, {"tuples_only", word[f.tuples]}}
}

var (
	yes = []string{"on", "true", "yes", "1", "t", "y"}
	no  = []string{"off", "false", "no", "0", "f", "n"}
)

func numeric(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.OIDOID, pgtype.XIDOID, pgtype.CIDOID:
		return true
	}
	return false
}

type unaligned struct {
	f    *format
	w    *bufio.Writer
	cols []column
	n    int64
}

func newUnaligned(f *format, w *bufio.Writer, cols []column) *unaligned {
	u := &unaligned{f, w, cols, 0}
	if !f.tuples && f.title != "" {
		w.WriteString(f.title + f.recordsep)
	}
	if !f.tuples && f.expanded != "on" {
		for i, c := range cols {
			if i > 0 {
				w.WriteString(f.fieldsep)
			}
			w.WriteString(c.name)
		}
		w.WriteString(f.recordsep)
	}
	return u
}

func (u *unaligned) value(v []byte) {
	if v == nil {
		u.w.WriteString(u.f.null)
		return
	}
	u.w.Write(v)
}

func (u *unaligned) row(vals [][]byte) {
	u.n++
	if u.f.expanded == "on" {
		if u.n > 1 {
			u.w.WriteString(u.f.recordsep)
		}
		for i, v := range vals {
			u.w.WriteString(u.cols[i].name + u.f.fieldsep)
			u.value(v)
			u.w.WriteString(u.f.recordsep)
		}
		return
	}
	for i, v := range vals {
		if i > 0 {
			u.w.WriteString(u.f.fieldsep)
		}
		u.value(v)
	}
	u.w.WriteString(u.f.recordsep)
}

func (u *unaligned) end(rows int64) {
	switch {
	case u.f.tuples:
	case u.f.footers != nil:
		u.w.WriteString(strings.Join(u.f.footers, "\n") + "\n")
	case u.f.footer && u.f.expanded != "on":
		u.w.WriteString(rowCount(rows))
	}
}

type csvPrinter struct {
	f    *format
	w    *csv.Writer
	cols []column
	rec  []string
}

func newCSV(f *format, w *bufio.Writer, cols []column) *csvPrinter {
	p := &csvPrinter{f, csv.NewWriter(w), cols, make([]string, len(cols))}
	p.w.Comma = rune(f.csvsep[0])
	if !f.tuples && f.expanded != "on" {
		for i, c := range cols {
			p.rec[i] = c.name
		}
		_ = p.w.Write(p.rec)
	}
	return p
}

func (p *csvPrinter) row(vals [][]byte) {
	for i, v := range vals {
		if p.rec[i] = p.f.null; v != nil {
			p.rec[i] = string(v)
		}
		if p.f.expanded == "on" {
			_ = p.w.Write([]string{p.cols[i].name, p.rec[i]})
		}
	}
	if p.f.expanded != "on" {
		_ = p.w.Write(p.rec)
	}
}

func (p *csvPrinter) end(int64) { p.w.Flush() }

type jsonPrinter struct {
	w     *bufio.Writer
	cols  []column
	names []string
	n     int64
}

func newJSON(w *bufio.Writer, cols []column) *jsonPrinter {
	p := &jsonPrinter{w: w, cols: cols}
	for _, c := range cols {
		p.names = append(p.names, jsonText(c.name)+":")
	}
	w.WriteByte('[')
	return p
}

func jsonText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has a form in JSON
	return strings.TrimSuffix(b.String(), "\n")
}

func (p *jsonPrinter) row(vals [][]byte) {
	if p.n++; p.n > 1 {
		p.w.WriteString(",\n ")
	}
	p.w.WriteByte('{')
	for i, v := range vals {
		if i > 0 {
			p.w.WriteByte(',')
		}
		p.w.WriteString(p.names[i])
		switch oid := p.cols[i].oid; {
		case v == nil:
			p.w.WriteString("null")
		case oid == pgtype.BoolOID:
			p.w.WriteString(map[bool]string{true: "true", false: "false"}[string(v) == "t"])
		case numeric(oid) && json.Valid(v), oid == pgtype.JSONOID, oid == pgtype.JSONBOID: // not NaN and Infinity
			p.w.Write(v)
		default:
			p.w.WriteString(jsonText(string(v)))
		}
	}
	p.w.WriteByte('}')
}

func (p *jsonPrinter) end(int64) { p.w.WriteString("]\n") }

type markdown struct {
	f *format
	w *bufio.Writer
}

var markdownEscapes = strings.NewReplacer(`|`, `\|`, "\n", "<br>", "<", "&lt;", "&", "&amp;")

func newMarkdown(f *format, w *bufio.Writer, cols []column) markdown {
	var rule strings.Builder
	for _, c := range cols {
		w.WriteString("| " + markdownEscapes.Replace(c.name) + " ")
		if c.right {
			rule.WriteString("|---:")
		} else {
			rule.WriteString("|---")
		}
	}
	w.WriteString("|\n" + rule.String() + "|\n")
	return markdown{f, w}
}

func (m markdown) row(vals [][]byte) {
	for _, v := range vals {
		text := m.f.null
		if v != nil {
			text = markdownEscapes.Replace(string(v))
		}
		m.w.WriteString("| " + text + " ")
	}
	m.w.WriteString("|\n")
}

func (m markdown) end(int64) {}

type htmlPrinter struct {
	f    *format
	w    *bufio.Writer
	cols []column
}

func newHTML(f *format, w *bufio.Writer, cols []column) htmlPrinter {
	w.WriteString("<table border=\"1\">\n")
	if f.title != "" && !f.tuples {
		w.WriteString("  <caption>" + html.EscapeString(f.title) + "</caption>\n")
	}
	if !f.tuples {
		w.WriteString("  <tr>\n")
		for _, c := range cols {
			w.WriteString("    <th align=\"center\">" + html.EscapeString(c.name) + "</th>\n")
		}
		w.WriteString("  </tr>\n")
	}
	return htmlPrinter{f, w, cols}
}

func (p htmlPrinter) row(vals [][]byte) {
	p.w.WriteString("  <tr valign=\"top\">\n")
	for i, v := range vals {
		align, text := "left", p.f.null
		if p.cols[i].right {
			align = "right"
		}
		if v != nil {
			text = strings.ReplaceAll(html.EscapeString(string(v)), "\n", "<br />\n")
		}
		if text == "" {
			text = "&nbsp; "
		}
		p.w.WriteString("    <td align=\"" + align + "\">" + text + "</td>\n")
	}
	p.w.WriteString("  </tr>\n")
}

func (p htmlPrinter) end(rows int64) {
	p.w.WriteString("</table>\n")
	if !p.f.tuples && p.f.footer {
		_, _ = io.WriteString(p.w, "<p>"+strings.TrimSuffix(rowCount(rows), "\n")+"<br />\n</p>\n")
	}
}
