package textfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// quoteLiteral is quote_literal(): E'…' where there are backslashes.
func quoteLiteral(c *function.Call, s string) string {
	slashes := strings.Count(s, `\`)
	b := c.Text(len(s) + strings.Count(s, "'") + slashes + 3)
	if slashes > 0 {
		b.WriteString("E")
	}
	b.WriteString("'")
	for len(s) > 0 {
		i := strings.IndexAny(s, `'\`)
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i+1])
		b.WriteString(s[i : i+1])
		s = s[i+1:]
	}
	b.WriteString("'")
	return b.String()
}

// quoteName is quote_ident().
func quoteName(c *function.Call, s string) string {
	c.Meter().Scratch(2*len(s) + 2)
	return lex.QuoteName(s)
}

// parseIdent is parse_ident(): the parts of a qualified identifier.
func parseIdent(c *function.Call, a []types.Datum) (types.Datum, error) {
	s, strict := a[0].(string), a[1].(bool)
	c.Meter().Scratch(64 * len(s))
	fail := func() error {
		return pgerr.New(pgerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", s)
	}
	out := types.Array{Elem: types.Text}
	rest := strings.TrimLeft(s, " \t\n\r\f")
	afterDot := false
	for {
		var part string
		switch {
		case strings.HasPrefix(rest, `"`):
			var b strings.Builder
			i := 1
			for ; ; i++ {
				if i >= len(rest) {
					return nil, fail().(*pgerr.Error).WithDetail("String has unclosed double quotes.")
				}
				if rest[i] == '"' {
					if i+1 < len(rest) && rest[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(rest[i])
			}
			part, rest = b.String(), rest[i+1:]
			if part == "" {
				return nil, fail().(*pgerr.Error).WithDetail("Quoted identifier must not be empty.")
			}
		default:
			i := 0
			for i < len(rest) && identByte(rest[i], i == 0) {
				i++
			}
			if i == 0 {
				e := fail().(*pgerr.Error)
				switch {
				case strings.HasPrefix(rest, "."):
					return nil, e.WithDetail("No valid identifier before \".\".")
				case afterDot:
					return nil, e.WithDetail("No valid identifier after \".\".")
				}
				return nil, e
			}
			part, rest = lex.Fold(rest[:i]), rest[i:]
		}
		out.Elems = append(out.Elems, part)
		rest = strings.TrimLeft(rest, " \t\n\r\f")
		if strings.HasPrefix(rest, ".") {
			afterDot = true
			rest = strings.TrimLeft(rest[1:], " \t\n\r\f")
			continue
		}
		if rest == "" {
			return out, nil
		}
		if strict {
			return nil, fail()
		}
		return out, nil
	}
}

func identByte(c byte, first bool) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 || !first && (c >= '0' && c <= '9' || c == '$')
}
