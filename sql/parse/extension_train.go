package parse

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// extension parses tokens [lo, hi) if they begin a statement that PostgreSQL does not have; nil,
// nil if they do not. The first words decide which it is; none of these beginnings is taken by
// Postgres's or MySQL's grammar.
func (s *source) extension(lo, hi int, d Dialect) (Extension, error) {
	c := &cursor{s: s, i: lo, hi: hi, d: d}
	o := c.statement()
	if c.err != nil {
		return nil, c.err
	}
	if o != nil {
		c.end()
		if c.err != nil {
			return nil, c.err
		}
	}
	return o, nil
}

func (c *cursor) statement() Extension {
	switch {
	case c.trainAhead():
		return c.train()
	case c.accept("retrain", "model"):
		return c.retrain()
	case c.accept("resume", "training"):
		return &ResumeTraining{Name: c.qualified()}
	case c.accept("cancel", "training"):
		n := &CancelTraining{Name: c.qualified()}
		if c.accept("trial") {
			n.Trial = c.positive("trial")
		}
		return n
	case c.accept("show", "models"):
		return &ShowModels{}
	case c.accept("describe", "model"), c.accept("desc", "model"):
		d := &DescribeModel{Name: c.qualified(), Version: version(c)}
		switch {
		case !c.accept("as"):
		case c.accept("card"):
			d.As = "card"
		case c.accept("json"):
			d.As = "json"
		default:
			c.fail()
		}
		return d
	case c.accept("verify", "model"):
		return &VerifyModel{Name: c.qualified(), Version: version(c)}
	case c.accept("alter", "model"):
		return c.alterModel()
	case c.accept("alter", "node"):
		return c.alterNode()
	case c.accept("alter", "system", "finalize", "upgrade"):
		return &FinalizeUpgrade{}
	case c.accept("drop", "model"):
		return c.dropModel()
	case c.accept("export", "model"):
		return c.exportModel()
	case c.accept("import", "model"):
		return c.importModel()
	case c.accept("backup"):
		return c.backup()
	case c.accept("restore"):
		return c.restore()
	case c.accept("undrop", "table"):
		return c.undrop()
	case c.accept("show", "backups"):
		c.expect("from")
		return &ShowBackups{URI: c.str()}
	case c.peek("explain"):
		return c.explain()
	case c.peek("alter", "table"):
		return c.repartition()
	}
	if n := c.secret(); n != nil {
		return n
	}
	if n := resourceGroup(c); n != nil {
		return n
	}
	return c.schedule()
}

// trainAhead reports whether {TRAIN|CREATE} [OR REPLACE] MODEL is next.
func (c *cursor) trainAhead() bool {
	for _, verb := range []string{"train", "create"} {
		if c.peek(verb, "model") || c.peek(verb, "or", "replace", "model") {
			return true
		}
	}
	return false
}

// train takes the statement. The clauses before AS may stand in any order, each once.
func (c *cursor) train() *TrainModel {
	t := &TrainModel{Create: c.peek("create")}
	c.i++
	t.OrReplace = c.accept("or", "replace")
	c.expect("model")
	if c.accept("if") {
		c.expect("not", "exists")
		t.IfNotExists = true
	}
	if t.OrReplace && t.IfNotExists {
		c.failWith(pgerr.New(pgerr.SyntaxError, "OR REPLACE and IF NOT EXISTS cannot be used together").At(c.s.Pos(c.i - 3)))
	}
	t.NamePos = c.s.Pos(c.i)
	t.Name = c.qualified()
	var using, predict, groups, transform, options bool
	once := func(done *bool) {
		if *done {
			c.i--
			c.fail()
		}
		*done = true
	}
	for c.err == nil {
		switch {
		case c.accept("using"):
			once(&using)
			t.AlgorithmPos = c.s.Pos(c.i)
			if c.s.Kind(c.i) == lex.String {
				t.Algorithm = lex.Fold(c.str())
			} else {
				t.Algorithm = lex.Fold(c.ident())
			}
		case c.accept("predict"):
			once(&predict)
			t.Predict, t.PredictPos = c.columnList()
		case c.accept("group", "by"):
			once(&groups)
			t.GroupBy, t.GroupByPos = c.columnList()
		case c.accept("transform"):
			once(&transform)
			c.transform(t)
		case c.accept("with"), c.accept("options"):
			once(&options)
			t.Options = c.options()
		case c.accept("as"):
			t.Query, t.QueryText = c.query()
			return t
		default:
			c.fail()
		}
	}
	return t
}

// columnList takes names of columns, in parentheses or not.
func (c *cursor) columnList() (names []string, pos []int) {
	paren := c.acceptSelf('(')
	for c.err == nil {
		pos = append(pos, c.s.Pos(c.i))
		names = append(names, c.ident())
		if !c.acceptSelf(',') {
			break
		}
	}
	if paren {
		c.expectSelf(')')
	}
	return names, pos
}

// transform takes TRANSFORM ( items ): a select list, parsed as one.
func (c *cursor) transform(t *TrainModel) {
	lo, hi := c.parens()
	if c.err != nil {
		return
	}
	if lo == hi {
		c.i = hi
		c.fail()
		return
	}
	items, err := c.s.selectList(lo, hi)
	t.Transform = items
	c.failWith(err)
}

func (c *cursor) withOptions() []Option {
	if c.accept("with") || c.accept("options") {
		return c.options()
	}
	return nil
}

// version takes [VERSION n]; 0 without it.
func version(c *cursor) int64 {
	if c.accept("version") {
		return c.positive("version")
	}
	return 0
}

func (c *cursor) retrain() *Retrain {
	r := &Retrain{Name: c.qualified()}
	if c.accept("as") {
		r.Query, r.QueryText = c.query()
	}
	return r
}

// explain takes EXPLAIN … of a training; nil for any other EXPLAIN. What is
// between EXPLAIN and TRAIN is Postgres's own, so its grammar reads it.
func (c *cursor) explain() Extension {
	p := &cursor{s: c.s, i: c.i + 1, hi: c.hi, d: c.d}
	if p.i < p.hi && c.s.IsSelf(p.i, '(') {
		end := c.s.Closing(p.i, p.hi)
		if end < 0 {
			return nil
		}
		p.i = end + 1
	} else {
		for p.accept("analyze") || p.accept("analyse") || p.accept("verbose") {
		}
	}
	if !p.trainAhead() {
		return nil
	}
	w := newRewriter(c.s, c.i, p.i)
	w.Copy(c.i, p.i)
	w.Put(p.i, "SELECT")
	node, err := parseOne(w.fragment())
	if err != nil {
		c.failWith(err)
		return nil
	}
	e := &Explain{}
	if x, ok := node.(*ast.ExplainStmt); ok && x.Options != nil {
		for _, item := range x.Options.Items {
			if o, ok := item.(*ast.DefElem); ok {
				e.Options = append(e.Options, o)
				switch lex.Fold(o.Defname) {
				case "analyze":
					e.Analyze = defBool(o)
				case "verbose":
					e.Verbose = defBool(o)
				}
			}
		}
	}
	e.Train = p.train()
	c.i = p.i
	c.failWith(p.err)
	return e
}

// defBool reads a DefElem as a boolean: absent means true.
func defBool(o *ast.DefElem) bool {
	switch v := o.Arg.(type) {
	case *ast.Boolean:
		return v.BoolVal
	case *ast.Integer:
		return v.IVal != 0
	case *ast.String:
		w := lex.Fold(v.SVal)
		return w != "false" && w != "off"
	}
	return true
}
