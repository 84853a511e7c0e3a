package jsonpath

import (
	"strconv"
	"strings"
)

// String is the canonical text, which Parse reads back.
func (p *Path) String() string {
	var w printer
	if p.Strict {
		w.WriteString("strict ")
	}
	w.node(p.Expr, true)
	return w.String()
}

type printer struct{ strings.Builder }

var infix = map[Kind]string{Add: " + ", Sub: " - ", Mul: " * ", Div: " / ", Mod: " % ", And: " && ", Or: " || ", Equal: " == ", NotEqual: " != ",
	Less: " < ", LessEqual: " <= ", Greater: " > ", GreaterEqual: " >= ", StartsWith: " starts with "}

// priority returns which operators bind tighter.
func priority(k Kind) int {
	switch k {
	case Or:
		return 0
	case And:
		return 1
	case Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, StartsWith:
		return 2
	case Add, Sub:
		return 3
	case Mul, Div, Mod:
		return 4
	case Plus, Minus:
		return 5
	}
	return 6
}

// node prints n and what follows it; brackets says that an operator needs
// parentheses where it stands.
func (w *printer) node(n *Node, brackets bool) {
	brackets = brackets || n.Next != nil
	inner := func(x *Node) { w.node(x, x.Next == nil && priority(x.Kind) <= priority(n.Kind)) }
	open, shut := "", ""
	if brackets {
		open, shut = "(", ")"
	}
	switch n.Kind {
	case Null:
		w.WriteString("null")
	case True:
		w.WriteString("true")
	case False:
		w.WriteString("false")
	case String:
		w.quote(n.Text)
	case Number:
		if n.Next != nil {
			w.WriteString("(" + n.Text + ")")
		} else {
			w.WriteString(n.Text)
		}
	case Variable:
		w.WriteByte('$')
		w.quote(n.Text)
	case Root:
		w.WriteByte('$')
	case Current:
		w.WriteByte('@')
	case Last:
		w.WriteString("last")
	case Key:
		w.WriteByte('.')
		w.quote(n.Text)
	case AnyKey:
		w.WriteString(".*")
	case AnyElem:
		w.WriteString("[*]")
	case Index:
		for i, s := range n.Subs {
			w.WriteByte("[,"[min(i, 1)])
			w.node(s.From, false)
			if s.To != nil {
				w.WriteString(" to ")
				w.node(s.To, false)
			}
		}
		w.WriteByte(']')
	case AnyLevel:
		w.levels(n)
	case Filter:
		w.WriteString("?(")
		w.node(n.L, false)
		w.WriteByte(')')
	case Method:
		w.WriteString("." + n.Text + "(")
		if n.L != nil {
			w.node(n.L, false)
		}
		w.WriteByte(')')
	case Plus, Minus:
		w.WriteString(open + map[Kind]string{Plus: "+", Minus: "-"}[n.Kind])
		inner(n.L)
		w.WriteString(shut)
	case Not:
		w.WriteString("!(")
		w.node(n.L, false)
		w.WriteByte(')')
	case Exists:
		w.WriteString("exists (")
		w.node(n.L, false)
		w.WriteByte(')')
	case IsUnknown:
		w.WriteByte('(')
		w.node(n.L, false)
		w.WriteString(") is unknown")
	case LikeRegex:
		w.WriteString(open)
		inner(n.L)
		w.WriteString(" like_regex ")
		w.quote(n.Text)
		if n.Flags != "" {
			w.WriteString(` flag "` + n.Flags + `"`)
		}
		w.WriteString(shut)
	default:
		w.WriteString(open)
		inner(n.L)
		w.WriteString(infix[n.Kind])
		inner(n.R)
		w.WriteString(shut)
	}
	if n.Next != nil {
		w.node(n.Next, false)
	}
}

func (w *printer) levels(n *Node) {
	level := func(v int) string {
		if v < 0 {
			return "last"
		}
		return strconv.Itoa(v)
	}
	w.WriteString(".**")
	switch {
	case n.From == 0 && n.To < 0:
	case n.From == n.To:
		w.WriteString("{" + level(n.From) + "}")
	default:
		w.WriteString("{" + level(n.From) + " to " + level(n.To) + "}")
	}
}

func (w *printer) quote(s string) {
	w.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		if at := strings.IndexByte("\b\f\n\r\t\"\\", c); at >= 0 {
			w.WriteByte('\\')
			c = `bfnrt"\`[at]
		} else if c < ' ' {
			w.WriteString(`\u00` + string("0123456789abcdef"[c>>4]))
			c = "0123456789abcdef"[c&15]
		}
		w.WriteByte(c)
	}
	w.WriteByte('"')
}
