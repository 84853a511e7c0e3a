package bind

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type conf struct {
	*testCatalog
	path []string
	prep map[string]bool
}

type names struct{ c *conf }

func (n names) RegIn(t types.OID, name string) (types.OID, error) {
	name = strings.Trim(name, `"`)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	switch t {
	case types.RegclassOID:
		for _, r := range n.c.st.Relations() {
			if r.Name == name {
				return r.OID, nil
			}
		}
		if strings.HasPrefix(name, "pg_") {
			return 1259, nil
		}
		return 0, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
	case types.RegtypeOID:
		if o, ok := types.ByName(name); ok {
			return o, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
	}
	return 1, nil
}
func (n names) RegOut(t types.OID, oid types.OID) (string, bool) { return "", false }

type anyVirtual struct{}

var virt = map[string]string{}

func (anyVirtual) Virtual(schema, name string) ([]plan.Column, bool) {
	if c, ok := (testVirtual{}).Virtual(schema, name); ok {
		return c, ok
	}
	return nil, false
}

func (c *conf) ses(st *parse.Statement) *Session {
	s := c.session(st)
	s.SearchPath = c.path
	e := *types.DefaultEnv
	e.Names = names{c}
	s.Env = &e
	s.Virtual = anyVirtual{}
	s.Sources = nil
	return s
}

func (c *conf) drop(name string) {
	for _, sch := range c.st.Schemas() {
		if r := c.st.Relation(sch.OID, name); r != nil {
			if st, err := c.st.Apply([]catalog.Change{&catalog.DropRelation{OID: r.OID}}); err == nil {
				c.st = st
			}
		}
	}
}

func (c *conf) add(r *catalog.Relation, schema string) error {
	r.Schema = catalog.PublicOID
	if len(c.path) > 0 {
		if s := c.st.SchemaByName(c.path[0]); s != nil {
			r.Schema = s.OID
		}
	}
	if s := c.st.SchemaByName(schema); s != nil {
		r.Schema = s.OID
	}
	if c.st.Relation(r.Schema, r.Name) != nil {
		return pgerr.New(pgerr.DuplicateTable, "dup")
	}
	st, err := c.st.Apply([]catalog.Change{&catalog.PutRelation{Rel: r}})
	if err != nil {
		return err
	}
	c.st = st
	return nil
}

func (c *conf) exec(s *parse.Statement) error {
	switch n := s.Node.(type) {
	case *ast.SelectStmt:
		q, err := Query(c.ses(s), n)
		if err != nil {
			return err
		}
		if n.IntoClause != nil {
			return c.ctas(n.IntoClause.Rel, nil, q)
		}
		_ = plan.FormatQuery(q)
		if err := check(q); err != nil {
			return fmt.Errorf("INVALID %v\n%s", err, plan.FormatQuery(q))
		}
		return nil
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
		d, err := DML(c.ses(s), s.Node)
		if err != nil {
			return err
		}
		_ = plan.FormatDML(d)
		if err := checkDML(d); err != nil {
			return fmt.Errorf("INVALID %v\n%s", err, plan.FormatDML(d))
		}
		return nil
	case *ast.ExplainStmt:
		if q, ok := n.Query.(ast.Stmt); ok {
			s2 := *s
			s2.Node = q
			return c.exec(&s2)
		}
		return nil
	case *ast.PrepareStmt:
		if q, ok := n.Query.(ast.Stmt); ok {
			s2 := *s
			s2.Node = q
			ses := c.ses(s)
			for _, a := range items(n.Argtypes) {
				t, err := TypeName(c.ses(s), a.(*ast.TypeName))
				if err != nil {
					return err
				}
				ses.ParamTypes = append(ses.ParamTypes, t)
			}
			if _, ok := q.(*ast.SelectStmt); ok {
				_, err := Query(ses, q)
				return err
			}
			if _, ok := q.(*ast.ExplainStmt); ok {
				return nil
			}
			_, err := DML(ses, q)
			return err
		}
	case *ast.CreateSchemaStmt:
		if st, err := c.st.Apply([]catalog.Change{&catalog.PutSchema{Schema: &catalog.Schema{OID: c.next(), Name: n.Schemaname}}}); err == nil {
			c.st = st
		}
	case *ast.VariableSetStmt:
		if n.Name == "search_path" {
			c.path = nil
			for _, a := range items(n.Args) {
				if k, ok := a.(*ast.A_Const); ok {
					if s, ok := k.Val.(*ast.String); ok {
						c.path = append(c.path, s.SVal)
					}
				}
			}
		}
	case *ast.CreateStmt:
		return c.create(s, n)
	case *ast.CreateTableAsStmt:
		sel, ok := n.Query.(*ast.SelectStmt)
		if !ok {
			return nil
		}
		q, err := Query(c.ses(s), sel)
		if err != nil {
			return err
		}
		return c.ctas(n.Into.Rel, strs(n.Into.ColNames), q)
	case *ast.ViewStmt:
		q, err := Query(c.ses(s), n.Query.(ast.Stmt))
		if err != nil {
			return err
		}
		text := s.Text
		up := strings.ToUpper(text)
		at := -1
		for _, k := range []string{" AS\n", " AS ", "\nAS\n", "\nAS ", ")AS ", " AS("} {
			if i := strings.Index(up, k); i >= 0 && (at < 0 || i < at) {
				at = i
				text = s.Text[i+3:]
			}
		}
		if i := strings.Index(strings.ToUpper(text), "WITH CHECK OPTION"); i >= 0 {
			text = text[:i]
		}
		r := &catalog.Relation{OID: c.next(), Name: n.View.RelName, Kind: catalog.KindView, Query: strings.TrimSpace(strings.TrimPrefix(text, "S ")), SearchPath: c.path}
		nm := strs(n.Aliases)
		for i, col := range q.Cols {
			name := col.Name
			if i < len(nm) {
				name = nm[i]
			}
			r.Columns = append(r.Columns, catalog.Column{Name: name, Num: int16(i + 1), Type: col.Type})
		}
		if n.Replace {
			c.drop(n.View.RelName)
		}
		return c.add(r, n.View.SchemaName)
	case *ast.CreateEnumStmt:
		_, name := qualified(n.TypeName)
		if st, err := c.st.Apply([]catalog.Change{&catalog.PutEnum{Enum: &catalog.EnumType{OID: c.next(), ArrayOID: c.next(), Schema: catalog.PublicOID, Name: name, Labels: strs(n.Vals)}}}); err == nil {
			c.st = st
		}
	case *ast.CreateSeqStmt:
		return c.add(&catalog.Relation{OID: c.next(), Name: n.Sequence.RelName, Kind: catalog.KindSequence, Seq: &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 1, Min: 1, Max: 1 << 60, Cache: 1}}, "")
	case *ast.IndexStmt:
		if n.Unique {
			for _, r := range c.st.Relations() {
				if r.Name == n.Relation.RelName {
					k := catalog.Constraint{OID: c.next(), Kind: 'u', Name: n.Idxname}
					for _, e := range items(n.IndexParams) {
						if col := r.Column(e.(*ast.IndexElem).Name); col != nil {
							k.Columns = append(k.Columns, col.Num)
						}
					}
					nr := r.Clone()
					nr.Constraints = append(nr.Constraints, k)
					if st, err := c.st.Apply([]catalog.Change{&catalog.PutRelation{Rel: nr, ExpectVersion: r.Version}}); err == nil {
						c.st = st
					}
				}
			}
		}
	case *ast.DropStmt:
		for _, o := range items(n.Objects) {
			if l, ok := o.(*ast.NodeList); ok {
				_, name := qualified(l)
				c.drop(name)
			}
		}
	case *ast.AlterTableStmt:
		return c.alter(s, n)
	case *ast.RenameStmt:
		if n.Relation == nil {
			return nil
		}
		for _, r := range c.st.Relations() {
			if r.Name == n.Relation.RelName {
				nr := r.Clone()
				if n.Subname != "" {
					for i := range nr.Columns {
						if nr.Columns[i].Name == n.Subname {
							nr.Columns[i].Name = n.Newname
						}
					}
				} else {
					nr.Name = n.Newname
				}
				if st, err := c.st.Apply([]catalog.Change{&catalog.PutRelation{Rel: nr, ExpectVersion: r.Version}}); err == nil {
					c.st = st
				}
			}
		}
	}
	return nil
}

func (c *conf) ctas(rv *ast.RangeVar, nm []string, q *plan.Query) error {
	r := &catalog.Relation{OID: c.next(), Name: rv.RelName, Kind: catalog.KindTable, Partitions: 1}
	for i, col := range q.Cols {
		name := col.Name
		if i < len(nm) {
			name = nm[i]
		}
		t := col.Type
		if t.Mod < 0 {
			t = plainNumeric(t)
		}
		r.Columns = append(r.Columns, catalog.Column{Name: name, Num: int16(i + 1), Type: t})
	}
	return c.add(r, rv.SchemaName)
}

func (c *conf) colDef(s *parse.Statement, r *catalog.Relation, e *ast.ColumnDef) error {
	_, tn := qualified(e.TypeName.Names)
	var typ types.Type
	var err error
	serial := false
	switch tn {
	case "serial", "serial4":
		typ, serial = types.Int4, true
	case "bigserial", "serial8":
		typ, serial = types.Int8, true
	case "smallserial", "serial2":
		typ, serial = types.Int2, true
	default:
		if typ, err = TypeName(c.ses(s), e.TypeName); err != nil {
			return err
		}
	}
	r.Columns = append(r.Columns, catalog.Column{Name: e.Colname, Num: int16(len(r.Columns) + 1), Type: typ})
	col := &r.Columns[len(r.Columns)-1]
	seq := func() {
		q := &catalog.Relation{OID: c.next(), Name: r.Name + "_" + col.Name + "_seq", Kind: catalog.KindSequence, Seq: &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 1, Min: 1, Max: 1 << 60, Cache: 1}}
		c.drop(q.Name)
		if c.add(q, "") == nil {
			col.Sequence = q.OID
		}
	}
	if serial {
		seq()
		col.Default = "nextval('" + r.Name + "_" + col.Name + "_seq'::regclass)"
	}
	for _, x := range items(e.Constraints) {
		x := x.(*ast.Constraint)
		k := catalog.Constraint{OID: c.next(), Name: x.Conname, Columns: []int16{col.Num}}
		if k.Name == "" {
			k.Name = r.Name + "_" + col.Name + "_key"
		}
		switch x.Contype {
		case ast.CONSTR_DEFAULT:
			col.Default = x.RawExpr.SqlString()
		case ast.CONSTR_GENERATED:
			col.Generated = x.RawExpr.SqlString()
		case ast.CONSTR_IDENTITY:
			col.Identity = byte(x.GeneratedWhen)
			seq()
		case ast.CONSTR_PRIMARY:
			k.Kind, k.Name = 'p', r.Name+"_pkey"
			r.Constraints = append(r.Constraints, k)
		case ast.CONSTR_UNIQUE:
			k.Kind = 'u'
			r.Constraints = append(r.Constraints, k)
		case ast.CONSTR_CHECK:
			k.Kind, k.Check = 'c', x.RawExpr.SqlString()
			r.Constraints = append(r.Constraints, k)
		}
	}
	return nil
}

func (c *conf) create(s *parse.Statement, n *ast.CreateStmt) error {
	if n.IfNotExists {
		for _, sc := range c.path {
			if x := c.st.SchemaByName(sc); x != nil && c.st.Relation(x.OID, n.Relation.RelName) != nil {
				return nil
			}
		}
	}
	r := &catalog.Relation{OID: c.next(), Name: n.Relation.RelName, Kind: catalog.KindTable, Partitions: 1}
	for _, e := range items(n.TableElts) {
		switch e := e.(type) {
		case *ast.ColumnDef:
			if err := c.colDef(s, r, e); err != nil {
				return err
			}
		case *ast.TableLikeClause:
			for _, o := range c.st.Relations() {
				if o.Name == e.Relation.RelName {
					for _, col := range o.Live() {
						col.Num = int16(len(r.Columns) + 1)
						r.Columns = append(r.Columns, col)
					}
				}
			}
		}
	}
	for _, e := range items(n.TableElts) {
		if x, ok := e.(*ast.Constraint); ok {
			k := catalog.Constraint{OID: c.next(), Name: x.Conname}
			for _, key := range strs(x.Keys) {
				if col := r.Column(key); col != nil {
					k.Columns = append(k.Columns, col.Num)
				}
			}
			if k.Name == "" {
				k.Name = r.Name + "_key"
			}
			switch x.Contype {
			case ast.CONSTR_PRIMARY:
				k.Kind, k.Name = 'p', r.Name+"_pkey"
			case ast.CONSTR_UNIQUE:
				k.Kind = 'u'
			case ast.CONSTR_CHECK:
				k.Kind, k.Check = 'c', x.RawExpr.SqlString()
			default:
				continue
			}
			r.Constraints = append(r.Constraints, k)
		}
	}
	return c.add(r, n.Relation.SchemaName)
}

func (c *conf) alter(s *parse.Statement, n *ast.AlterTableStmt) error {
	for _, r := range c.st.Relations() {
		if r.Name != n.Relation.RelName {
			continue
		}
		nr := r.Clone()
		for _, x := range items(n.Cmds) {
			cmd := x.(*ast.AlterTableCmd)
			switch cmd.Subtype {
			case ast.AT_AddColumn:
				if d, ok := cmd.Def.(*ast.ColumnDef); ok {
					if err := c.colDef(s, nr, d); err != nil {
						return err
					}
				}
			case ast.AT_DropColumn:
				for i := range nr.Columns {
					if nr.Columns[i].Name == cmd.Name {
						nr.Columns[i].Dropped = true
					}
				}
			case ast.AT_AlterColumnType:
				if d, ok := cmd.Def.(*ast.ColumnDef); ok {
					if t, err := TypeName(c.ses(s), d.TypeName); err == nil {
						for i := range nr.Columns {
							if nr.Columns[i].Name == cmd.Name {
								nr.Columns[i].Type = t
							}
						}
					}
				}
			}
		}
		if st, err := c.st.Apply([]catalog.Change{&catalog.PutRelation{Rel: nr, ExpectVersion: r.Version}}); err == nil {
			c.st = st
		}
	}
	return nil
}

func TestZZConf(t *testing.T) {
	only := os.Getenv("CONF")
	if only == "" {
		return
	}
	files, _ := filepath.Glob("/work/shared/conformance/" + only + "/*.slt")
	w, _ := os.Create("/tmp/w/bindconf.txt")
	defer w.Close()
	hist := map[string]int{}
	okN, badN, errOK, errNo := 0, 0, 0, 0
	binderCodes := "42703 42P01 42804 42P10 42P20 42809 42803 42P19 42702 42883 42725 42712 42704 42601 42P18 42846 42P09 42P02 42701 42P08 0A000 42P21 22P02 428C9"
	for _, f := range files {
		c := &conf{testCatalog: newTestCatalog(t), path: []string{"public"}, prep: map[string]bool{}}
		var run func(f string, depth int)
		run = func(f string, depth int) {
			fh, err := os.Open(f)
			if err != nil {
				return
			}
			sc := bufio.NewScanner(fh)
			sc.Buffer(make([]byte, 1<<20), 1<<26)
			var lines []string
			for sc.Scan() {
				lines = append(lines, sc.Text())
			}
			fh.Close()
			for i := 0; i < len(lines); {
				h := lines[i]
				i++
				if strings.HasPrefix(h, "include ") && depth == 0 {
					run(filepath.Join(filepath.Dir(f), strings.TrimSpace(h[8:])), 1)
					continue
				}
				if !(strings.HasPrefix(h, "statement ") || strings.HasPrefix(h, "query") || strings.HasPrefix(h, "let ")) {
					continue
				}
				var sql []string
				at := i
				for i < len(lines) && lines[i] != "" && lines[i] != "----" {
					sql = append(sql, lines[i])
					i++
				}
				for i < len(lines) && lines[i] != "" {
					i++
				}
				text := strings.Join(sql, "\n")
				list, perr := parse.Parse(text, parse.Postgres)
				want := ""
				if strings.HasPrefix(h, "statement error") {
					want = h[strings.Index(h, "SQLSTATE ")+9:][:5]
				}
				if perr != nil {
					if want == "" {
						fmt.Fprintf(w, "PARSE %s:%d %v\n%s\n\n", f, at, perr, text)
					}
					continue
				}
				var err error
				func() {
					defer func() {
						if r := recover(); r != nil {
							err = fmt.Errorf("PANIC %v", r)
							if os.Getenv("PANIC") != "" {
								panic(r)
							}
						}
					}()
					for _, s := range list {
						if s.Node == nil {
							continue
						}
						if err = c.exec(s); err != nil {
							break
						}
					}
				}()
				if want == "" {
					if err == nil {
						okN++
						continue
					}
					badN++
					e := pgerr.From(err)
					msg := e.Message
					if len(msg) > 60 {
						msg = msg[:60]
					}
					hist[string(e.Code)+" "+msg]++
					fmt.Fprintf(w, "REFUSED %s:%d %v\n%s\n\n", f, at, err, text)
					continue
				}
				got := ""
				if err != nil {
					got = string(pgerr.CodeOf(err))
				}
				if got == want {
					errOK++
				} else if got != "" || strings.Contains(binderCodes, want) {
					errNo++
					fmt.Fprintf(w, "WRONG want %s got %v %s:%d\n%s\n\n", want, err, f, at, text)
				}
			}
		}
		run(f, 0)
	}
	fmt.Println("ok", okN, "refused", badN, "errors right", errOK, "wrong", errNo)
	var keys []string
	for k := range hist {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return hist[keys[i]] > hist[keys[j]] })
	for i, k := range keys {
		if i < 90 {
			fmt.Println(hist[k], k)
		}
	}
}
