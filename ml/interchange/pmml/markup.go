package pmml

import (
	"bytes"
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// markup is XML. Attributes are names and values by turns.
type markup struct {
	bytes.Buffer
	wrong string // the first text that XML cannot hold
}

func (m *markup) open(name string, attrs ...string)  { m.start(name, attrs, ">\n") }
func (m *markup) empty(name string, attrs ...string) { m.start(name, attrs, "/>\n") }
func (m *markup) close(name string)                  { m.WriteString("</" + name + ">\n") }

func (m *markup) start(name string, attrs []string, end string) {
	m.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		m.WriteString(" " + attrs[i] + `="`)
		m.text(attrs[i+1])
		m.WriteByte('"')
	}
	m.WriteString(end)
}

// leaf writes an element that has text.
func (m *markup) leaf(name, text string, attrs ...string) {
	m.start(name, attrs, ">")
	m.text(text)
	m.close(name)
}

// text writes a text.
func (m *markup) text(s string) {
	if m.wrong == "" && !(utf8.ValidString(s) && strings.IndexFunc(s, notXML) < 0) {
		m.wrong = s
	}
	_ = xml.EscapeText(&m.Buffer, []byte(s)) // a buffer has no errors
}

// notXML reports whether XML 1.0 has no such character.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

// number is a number as XML Schema writes a double.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "INF"
	case math.IsInf(v, -1):
		return "-INF"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// expression is the XML of an expression.
type expression func(m *markup)

func field(name string) expression {
	return func(m *markup) { m.empty("FieldRef", "field", name) }
}

func constant(v float64) expression { return literal("double", number(v)) }
func whole(v int) expression        { return literal("integer", strconv.Itoa(v)) }

func literal(dataType, text string) expression {
	return func(m *markup) { m.leaf("Constant", text, "dataType", dataType) }
}

func apply(function string, args ...expression) expression {
	return func(m *markup) {
		m.open("Apply", "function", function)
		for _, a := range args {
			a(m)
		}
		m.close("Apply")
	}
}
