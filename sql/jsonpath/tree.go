package jsonpath

// Kind says what a Node is.
type Kind uint8

// The kinds of nodes. Predicates are those from And on.
const (
	Null Kind = iota
	True
	False
	String   // Text
	Number   // Text, a numeric literal
	Variable // Text, without the $
	Root     // $
	Current  // @
	Last     // last, within a subscript
	Key      // .Text
	AnyKey   // .*
	AnyElem  // [*]
	Index    // Subs
	AnyLevel // .**, levels From to To, -1 for the last
	Filter   // ? (L)
	Method   // .Text(), L the argument of datetime
	Add
	Sub
	Mul
	Div
	Mod
	Plus  // + L
	Minus // - L
	And
	Or
	Not
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	StartsWith
	LikeRegex // L like_regex Text flag Flags
	Exists
	IsUnknown
)

// Path is a parsed path.
type Path struct {
	Strict bool
	Expr   *Node
}

// Node is an expression, and in Next what is applied to each of its items.
type Node struct {
	Kind     Kind
	Text     string
	Flags    string
	L, R     *Node
	Subs     []Subscript
	From, To int
	Next     *Node
}

// Subscript is one of [a, b to c]; To is nil for a single index.
type Subscript struct{ From, To *Node }

// Predicate reports whether n is true, false or unknown, and nothing follows.
func (n *Node) Predicate() bool { return n.Kind >= And && n.Next == nil }
