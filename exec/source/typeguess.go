package source

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// guess narrows down the type of values by their texts.
type guess struct {
	values                             csvValues // how they are written
	n                                  int
	notBool, notInt, notFloat, notDate bool
	notStamp                           bool
}

func (g *guess) see(s string) {
	g.n++
	if trimmed := strings.TrimSpace(s); trimmed != "" {
		s = trimmed // as types' input does
	}
	if !g.notBool {
		switch strings.ToLower(s) {
		case "true", "false":
		default:
			g.notBool = true
		}
	}
	if !g.notInt || !g.notFloat {
		g.seeNumber(s)
	}
	if !g.notDate {
		g.notDate = !g.isDate(s)
	}
	if !g.notStamp {
		g.notStamp = !g.isDate(s) && !g.isStamp(s)
	}
}

func (g *guess) seeNumber(s string) {
	if !g.values.plainNumbers() {
		if out, ok := g.values.number(nil, []byte(s)); ok {
			s = string(out)
		} else if strings.ContainsAny(s, "0123456789") {
			g.notInt, g.notFloat = true, true
			return
		}
	}
	if !g.notInt {
		if len(s) > 1 && s[0] == '0' || strings.HasPrefix(s, "+") {
			g.notInt = true // a code or a telephone number
			g.notFloat = g.notFloat || !strings.ContainsAny(s, ".eE")
		} else if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			g.notInt = true
		}
	}
	if !g.notFloat {
		g.notFloat = !isNumber(s)
	}
}

func (g *guess) typ() types.Type {
	switch {
	case g.n == 0:
		return types.Text
	case !g.notBool:
		return types.Bool
	case !g.notInt:
		return types.Int8
	case !g.notFloat:
		return types.Float8
	case !g.notDate:
		return types.Date
	case !g.notStamp:
		return types.Timestamp
	}
	return types.Text
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return strings.EqualFold(s, "nan") || strings.EqualFold(s, "inf") || strings.EqualFold(s, "-inf") ||
				strings.EqualFold(s, "infinity") || strings.EqualFold(s, "-infinity")
		}
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func wholeNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// isDate and isStamp look for the formats that are given, or else for the ISO forms alone: others mean
// different days to different people.
func (g *guess) isDate(s string) bool {
	if f := g.values.date; f != nil {
		out, ok := f.ISO(nil, s)
		return ok && isDate(string(out))
	}
	return isDate(s)
}

func (g *guess) isStamp(s string) bool {
	if f := g.values.stamp; f != nil {
		out, ok := f.ISO(nil, s)
		_, err := datetime.ParseTimestamp(string(out), nil)
		return ok && err == nil && !strings.Contains(f.Fields(), "z")
	}
	return isStamp(s)
}

func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	_, err := datetime.ParseDate(s, nil)
	return err == nil
}

func isStamp(s string) bool {
	if len(s) < 16 || !isDate(s[:10]) || s[10] != ' ' && s[10] != 'T' || s[13] != ':' {
		return false
	}
	for i := 11; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && c != ':' && c != '.' {
			return false // a zone would be lost
		}
	}
	_, err := datetime.ParseTimestamp(s, nil)
	return err == nil
}
