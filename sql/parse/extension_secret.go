package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// CreateSecret is CREATE [OR REPLACE] SECRET [IF NOT EXISTS] name (TYPE s3, KEY_ID '…', SECRET '…', …).
type CreateSecret struct {
	Name        string
	OrReplace   bool
	IfNotExists bool
	Options     []SecretOption
}

// SecretOption is a word and its value. The value must not be in an error.
type SecretOption struct {
	Name  string // folded
	Value string
	Pos   int
}

// DropSecret is DROP SECRET [IF EXISTS] name.
type DropSecret struct {
	Name     string
	IfExists bool
}

// Tag implements Extension.
func (*CreateSecret) Tag() string { return "CREATE SECRET" }
func (*DropSecret) Tag() string   { return "DROP SECRET" }

func (*CreateSecret) extension() {}
func (*DropSecret) extension()   {}

// secret takes the statements of secrets; nil if none is next.
func (c *cursor) secret() Extension {
	switch {
	case c.accept("drop", "secret"):
		d := &DropSecret{IfExists: c.accept("if", "exists")}
		d.Name = c.ident()
		return d
	case c.accept("create", "or", "replace", "secret"):
		return c.createSecret(&CreateSecret{OrReplace: true})
	case c.accept("create", "secret"):
		return c.createSecret(&CreateSecret{})
	}
	return nil
}

func (c *cursor) createSecret(n *CreateSecret) Extension {
	if c.accept("if") {
		c.expect("not", "exists")
		n.IfNotExists = true
	}
	n.Name = c.ident()
	c.expectSelf('(')
	for {
		if c.err != nil || c.i+1 >= c.hi || c.s.Kind(c.i) != lex.Ident {
			failSecret(c)
			return n
		}
		o := SecretOption{Name: lex.Fold(c.s.Raw(c.i)), Pos: c.s.Pos(c.i)}
		c.i++
		switch c.s.Kind(c.i) {
		case lex.String:
			o.Value = c.s.Literal(c.i)
		case lex.Ident:
			o.Value = lex.Fold(c.s.Raw(c.i))
		default:
			failSecret(c)
			return n
		}
		c.i++
		n.Options = append(n.Options, o)
		if !c.acceptSelf(',') {
			break
		}
	}
	if c.expectSelf(')'); c.err != nil || c.i < c.hi {
		failSecret(c)
	}
	return n
}

// failSecret is a syntax error that does not show what it is near: that may be a secret.
func failSecret(c *cursor) {
	e := pgerr.New(pgerr.SyntaxError, "syntax error in CREATE SECRET").WithHint("Write CREATE SECRET name (TYPE s3, KEY_ID '…', SECRET '…').")
	if c.i < c.hi {
		e = e.At(c.s.Pos(c.i))
	}
	c.err = e
}

// ObjectSecret is the kind of object of GRANT … ON SECRET s.
const ObjectSecret ast.ObjectType = ObjectModel << 1

// Public returns the statement's text for other sessions: where it defines something and may contain a secret,
// without its constants.
func (s *Statement) Public() string {
	if s.look(); s.secret && s.Defines() {
		return s.Normal(len(s.Text))
	}
	return s.Text
}

// MentionsSecret reports whether a text that is not parsed yet may have a secret.
func MentionsSecret(text string) bool {
	return strings.Contains(strings.ToLower(text), "secret") || strings.Contains(strings.ToLower(text), "password")
}
