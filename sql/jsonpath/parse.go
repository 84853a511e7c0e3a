package jsonpath

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxDepth bounds nesting, since parsing and evaluation recurse.
const maxDepth = 500

type parser struct {
	lexer
	depth      int
	filters    int // nesting of what may use @
	subscripts int // nesting of what may use last
}

// Parse reads a path. Its errors are 42601, and those of escapes in a string,
// such as 22P05 for \u0000.
func Parse(s string) (*Path, error) {
	p := &parser{lexer: lexer{s: s}}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath: \"%s\"", s)
	}
	out := &Path{}
	switch {
	case p.keyword("strict"):
		out.Strict = true
		fallthrough
	case p.keyword("lax"):
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.unexpected()
	}
	out.Expr = n
	return out, nil
}

// Canonical is the text of a path as the type jsonpath shows it.
func Canonical(s string) (string, error) {
	p, err := Parse(s)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

func (p *parser) op(text string) bool { return p.tok.kind == tokOp && p.tok.text == text }

// keyword: null, true and false are so in lower case only.
func (p *parser) keyword(word string) bool {
	if p.tok.kind != tokWord {
		return false
	}
	switch word {
	case "null", "true", "false":
		return p.tok.text == word
	}
	return strings.EqualFold(p.tok.text, word)
}

func (p *parser) accept(op string) (bool, error) {
	if !p.op(op) {
		return false, nil
	}
	return true, p.next()
}

func (p *parser) expect(op string) error {
	if !p.op(op) {
		return p.unexpected()
	}
	return p.next()
}

func (p *parser) or() (*Node, error) { return p.logic("||", Or, p.and) }

func (p *parser) and() (*Node, error) { return p.logic("&&", And, p.comparison) }

func (p *parser) logic(op string, kind Kind, operand func() (*Node, error)) (*Node, error) {
	l, err := operand()
	for err == nil && p.op(op) {
		if !l.Predicate() {
			return nil, p.unexpected()
		}
		if err = p.next(); err != nil {
			return nil, err
		}
		var r *Node
		if r, err = operand(); err == nil && !r.Predicate() {
			return nil, p.unexpected()
		}
		l = &Node{Kind: kind, L: l, R: r}
	}
	return l, err
}

var comparisons = map[string]Kind{"==": Equal, "!=": NotEqual, "<": Less, "<=": LessEqual, ">": Greater, ">=": GreaterEqual}

func (p *parser) comparison() (*Node, error) {
	l, err := p.sum()
	if err != nil {
		return nil, err
	}
	kind, compare := comparisons[p.tok.text]
	switch {
	case p.tok.kind == tokOp && compare:
		if l.Predicate() {
			return nil, p.unexpected()
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		r, err := p.sum()
		if err == nil && r.Predicate() {
			return nil, p.unexpected()
		}
		return &Node{Kind: kind, L: l, R: r}, err
	case l.Predicate():
		return l, nil
	case p.keyword("starts"):
		if err := p.next(); err != nil {
			return nil, err
		}
		if !p.keyword("with") {
			return nil, p.unexpected()
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		r := &Node{Kind: String, Text: p.tok.text}
		switch p.tok.kind {
		case tokString:
		case tokVariable:
			r.Kind = Variable
		default:
			return nil, p.unexpected()
		}
		return &Node{Kind: StartsWith, L: l, R: r}, p.next()
	case p.keyword("like_regex"):
		return p.likeRegex(l)
	}
	return l, nil
}

func (p *parser) likeRegex(l *Node) (*Node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString {
		return nil, p.unexpected()
	}
	n := &Node{Kind: LikeRegex, L: l, Text: p.tok.text}
	if err := p.next(); err != nil || !p.keyword("flag") {
		return n, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString {
		return nil, p.unexpected()
	}
	for _, f := range p.tok.text {
		if !strings.ContainsRune("ismxq", f) {
			return nil, pgerr.New(pgerr.SyntaxError, "invalid input syntax for type jsonpath").
				WithDetail("Unrecognized flag character \"%c\" in LIKE_REGEX predicate.", f)
		}
	}
	for _, f := range "ismxq" {
		if strings.ContainsRune(p.tok.text, f) {
			n.Flags += string(f)
		}
	}
	if strings.Contains(n.Flags, "x") && !strings.Contains(n.Flags, "q") {
		return nil, pgerr.Unsupported("XQuery \"x\" flag (expanded regular expressions) is not implemented")
	}
	return n, p.next()
}

func (p *parser) sum() (*Node, error) {
	return p.arithmetic(map[string]Kind{"+": Add, "-": Sub}, func() (*Node, error) {
		return p.arithmetic(map[string]Kind{"*": Mul, "/": Div, "%": Mod}, p.unary)
	})
}

func (p *parser) arithmetic(ops map[string]Kind, operand func() (*Node, error)) (*Node, error) {
	l, err := operand()
	for err == nil && p.tok.kind == tokOp {
		kind, ok := ops[p.tok.text]
		if !ok {
			break
		}
		if l.Predicate() {
			return nil, p.unexpected()
		}
		if err = p.next(); err != nil {
			return nil, err
		}
		var r *Node
		if r, err = operand(); err == nil && r.Predicate() {
			return nil, p.unexpected()
		}
		l = &Node{Kind: kind, L: l, R: r}
	}
	return l, err
}

func (p *parser) unary() (*Node, error) {
	kind := Plus
	switch {
	case p.op("!"):
		return p.not()
	case p.op("-"):
		kind = Minus
	case !p.op("+"):
		return p.accessors()
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.up()
	if err := p.next(); err != nil {
		return nil, err
	}
	n, err := p.unary()
	switch {
	case err != nil:
		return nil, err
	case n.Predicate():
		return nil, p.unexpected()
	case n.Kind == Number && n.Next == nil:
		if kind == Minus {
			c := *n
			if rest, negative := strings.CutPrefix(n.Text, "-"); negative {
				c.Text = rest
			} else {
				c.Text = "-" + n.Text
			}
			return &c, nil
		}
		return n, nil
	}
	return &Node{Kind: kind, L: n}, nil
}

// not takes a predicate in parentheses, or exists.
func (p *parser) not() (*Node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.op("(") && !p.keyword("exists") {
		return nil, p.unexpected()
	}
	n, err := p.accessors()
	if err == nil && !n.Predicate() {
		return nil, p.unexpected()
	}
	return &Node{Kind: Not, L: n}, err
}

func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "the path is nested too deeply")
	}
	return nil
}

func (p *parser) up() { p.depth-- }

// accessors reads a primary and what is applied to it.
func (p *parser) accessors() (*Node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.up()
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	last := n
	for last.Next != nil { // the accessors of a parenthesised expression
		last = last.Next
	}
	for {
		next, err := p.accessor()
		if err != nil {
			return nil, err
		}
		if next == nil {
			return n, nil
		}
		last.Next = next
		last = next
	}
}

func (p *parser) primary() (*Node, error) {
	t := p.tok
	switch t.kind {
	case tokString:
		return &Node{Kind: String, Text: t.text}, p.next()
	case tokNumber:
		return &Node{Kind: Number, Text: t.text}, p.next()
	case tokVariable:
		return &Node{Kind: Variable, Text: t.text}, p.next()
	case tokOp:
		switch t.text {
		case "$":
			return &Node{Kind: Root}, p.next()
		case "@":
			if p.filters == 0 {
				return nil, pgerr.New(pgerr.SyntaxError, "@ is not allowed in root expressions")
			}
			return &Node{Kind: Current}, p.next()
		case "(":
			return p.parenthesised()
		}
	case tokWord:
		switch {
		case p.keyword("null"):
			return &Node{Kind: Null}, p.next()
		case p.keyword("true"):
			return &Node{Kind: True}, p.next()
		case p.keyword("false"):
			return &Node{Kind: False}, p.next()
		case p.keyword("last"):
			if p.subscripts == 0 {
				return nil, pgerr.New(pgerr.SyntaxError, "LAST is allowed only in array subscripts")
			}
			return &Node{Kind: Last}, p.next()
		case p.keyword("exists"):
			if err := p.next(); err != nil {
				return nil, err
			}
			if err := p.expect("("); err != nil {
				return nil, err
			}
			n, err := p.sum()
			if err != nil {
				return nil, err
			}
			if n.Predicate() {
				return nil, p.unexpected()
			}
			return &Node{Kind: Exists, L: n}, p.expect(")")
		}
	}
	return nil, p.unexpected()
}

func (p *parser) parenthesised() (*Node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil || !n.Predicate() || !p.keyword("is") {
		return n, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.keyword("unknown") {
		return nil, p.unexpected()
	}
	return &Node{Kind: IsUnknown, L: n}, p.next()
}

// accessor reads one of .key, .*, .**, [...], ?(…) and .method(); nil if none
// follows.
func (p *parser) accessor() (*Node, error) {
	switch {
	case p.op("."):
		if err := p.next(); err != nil {
			return nil, err
		}
		return p.member()
	case p.op("["):
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.op("*") {
			if err := p.next(); err != nil {
				return nil, err
			}
			return &Node{Kind: AnyElem}, p.expect("]")
		}
		return p.index()
	case p.op("?"):
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		p.filters++
		n, err := p.or()
		p.filters--
		if err != nil {
			return nil, err
		}
		if !n.Predicate() {
			return nil, p.unexpected()
		}
		return &Node{Kind: Filter, L: n}, p.expect(")")
	}
	return nil, nil
}

var methods = []string{"abs", "size", "type", "floor", "double", "ceiling", "keyvalue", "datetime"}

func (p *parser) member() (*Node, error) {
	t := p.tok
	switch {
	case p.op("*"):
		return &Node{Kind: AnyKey}, p.next()
	case p.op("**"):
		return p.levels()
	case t.kind == tokString:
		return &Node{Kind: Key, Text: t.text}, p.next()
	case t.kind != tokWord:
		return nil, p.unexpected()
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.op("(") {
		return &Node{Kind: Key, Text: t.text}, nil
	}
	for _, m := range methods {
		if !strings.EqualFold(m, t.text) {
			continue
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		n := &Node{Kind: Method, Text: m}
		if m == "datetime" && p.tok.kind == tokString {
			n.L = &Node{Kind: String, Text: p.tok.text}
			if err := p.next(); err != nil {
				return nil, err
			}
		}
		return n, p.expect(")")
	}
	return nil, p.unexpected()
}

func (p *parser) levels() (*Node, error) {
	n := &Node{Kind: AnyLevel, To: -1}
	if err := p.next(); err != nil {
		return nil, err
	}
	if ok, err := p.accept("{"); err != nil || !ok {
		return n, err
	}
	level := func() (int, error) {
		if p.keyword("last") {
			return -1, p.next()
		}
		v, err := strconv.ParseUint(p.tok.text, 10, 31)
		if p.tok.kind != tokNumber || err != nil {
			return 0, p.unexpected()
		}
		return int(v), p.next()
	}
	var err error
	if n.From, err = level(); err != nil {
		return nil, err
	}
	n.To = n.From
	if p.keyword("to") {
		if err := p.next(); err != nil {
			return nil, err
		}
		if n.To, err = level(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("}")
}

func (p *parser) index() (*Node, error) {
	n := &Node{Kind: Index}
	p.subscripts++
	defer func() { p.subscripts-- }()
	one := func() (*Node, error) {
		e, err := p.sum()
		if err == nil && e.Predicate() {
			return nil, p.unexpected()
		}
		return e, err
	}
	for {
		var s Subscript
		var err error
		if s.From, err = one(); err != nil {
			return nil, err
		}
		if p.keyword("to") {
			if err := p.next(); err != nil {
				return nil, err
			}
			if s.To, err = one(); err != nil {
				return nil, err
			}
		}
		n.Subs = append(n.Subs, s)
		if more, err := p.accept(","); err != nil {
			return nil, err
		} else if !more {
			return n, p.expect("]")
		}
	}
}
