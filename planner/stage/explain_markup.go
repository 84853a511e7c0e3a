package stage

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/planner/plan"
)

// YAML prints a plan as EXPLAIN (FORMAT YAML) does: what JSON prints, in other signs.
func (o Options) YAML(s *plan.Staged) string {
	var b strings.Builder
	yamlValue(&b, tree(o.JSON(s)), 0, false)
	return strings.TrimPrefix(b.String(), "\n")
}

// XML prints a plan as EXPLAIN (FORMAT XML) does.
func (o Options) XML(s *plan.Staged) string {
	var b strings.Builder
	b.WriteString(`<explain xmlns="http://www.postgresql.org/2009/explain">` + "\n")
	for _, q := range tree(o.JSON(s)).items {
		xmlElement(&b, "Query", q.value, 1)
	}
	b.WriteString("</explain>")
	return b.String()
}

// markup is a value of a JSON text whose keys have kept their order.
type markup struct {
	scalar any
	items  []markupItem
	list   bool
}

type markupItem struct {
	key   string
	value markup
}

func tree(text string) markup {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return subtree(d)
}

func subtree(d *json.Decoder) (m markup) {
	tok, err := d.Token()
	if err != nil {
		return m // it is our own text
	}
	open, nested := tok.(json.Delim)
	if !nested {
		m.scalar = tok
		return m
	}
	m.list = open == '['
	for d.More() {
		var it markupItem
		if !m.list {
			key, _ := d.Token()
			it.key, _ = key.(string)
		}
		it.value = subtree(d)
		m.items = append(m.items, it)
	}
	_, _ = d.Token()
	return m
}

func (m markup) text() string {
	switch v := m.scalar.(type) {
	case string:
		b, _ := json.Marshal(v)
		return string(b)
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

// yamlValue writes what follows a key, or with first the dash of a list.
func yamlValue(b *strings.Builder, m markup, depth int, first bool) {
	if m.scalar != nil || m.items == nil {
		b.WriteString(m.text())
		return
	}
	for _, it := range m.items {
		if !first {
			b.WriteString("\n" + strings.Repeat("  ", depth))
		}
		first = false
		if m.list {
			b.WriteString("- ")
			yamlValue(b, it.value, depth+1, true)
			continue
		}
		b.WriteString(it.key + ": ")
		deeper := depth + 1
		yamlValue(b, it.value, deeper, false)
	}
}

func xmlElement(b *strings.Builder, name string, m markup, depth int) {
	indent := strings.Repeat("  ", depth)
	tag := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
			return r
		}
		return '-'
	}, name)
	b.WriteString(indent + "<" + tag + ">")
	if m.items == nil {
		if s, ok := m.scalar.(string); ok {
			_ = xml.EscapeText(b, []byte(s))
		} else if m.scalar != nil {
			b.WriteString(m.text())
		}
	} else {
		b.WriteByte('\n')
		for _, it := range m.items {
			key := it.key
			if m.list {
				key = "Item"
				if it.value.items != nil {
					key = strings.TrimSuffix(name, "s")
				}
			}
			xmlElement(b, key, it.value, depth+1)
		}
		b.WriteString(indent)
	}
	b.WriteString("</" + tag + ">\n")
}
