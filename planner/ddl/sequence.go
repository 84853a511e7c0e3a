package ddl

import (
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *planner) createSequence(n *ast.CreateSeqStmt) error {
	p.res.Tag = "CREATE SEQUENCE"
	rv := *n.Sequence
	if t := p.env.Bind.Text; t != nil && t.Temporary() {
		rv.RelPersistence = 't'
	}
	sc, err := p.schemaFor(&rv)
	if err != nil {
		return err
	}
	if skip, err := p.taken(sc, n.Sequence.RelName, n.IfNotExists); skip || err != nil {
		return err
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	rel := &catalog.Relation{OID: oid, Schema: sc.OID, Name: n.Sequence.RelName, Kind: catalog.KindSequence, Owner: p.env.Bind.Role,
		ACL: p.st.NewACL(catalog.ClassSequence, p.env.Bind.Role, sc.OID),
		Seq: &catalog.Sequence{Type: types.Int8}}
	if sc.OID == p.env.Bind.TempSchema && sc.OID != 0 {
		rel.Temp, rel.Session = true, p.env.Session
	}
	if _, err := p.sequenceOptions(rel, n.Options, true); err != nil {
		return err
	}
	return p.add(&catalog.PutRelation{Rel: rel})
}

func (p *planner) alterSequence(n *ast.AlterSeqStmt) error {
	rel, err := p.changed(n.Sequence, ast.OBJECT_SEQUENCE, n.MissingOk)
	if rel == nil {
		return err
	}
	if rel.Kind != catalog.KindSequence {
		return notOfKind(rel, catalog.KindSequence)
	}
	return p.changeSequence(rel, n.Options)
}

func (p *planner) changeSequence(rel *catalog.Relation, opts *ast.NodeList) error {
	up := rel.Clone()
	seq := *rel.Seq
	up.Seq = &seq
	restart, err := p.sequenceOptions(up, opts, false)
	if err != nil {
		return err
	}
	if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version}); err != nil {
		return err
	}
	if restart != nil {
		return p.add(&catalog.SetSequence{OID: rel.OID, Value: catalog.SeqValue{Last: *restart}})
	}
	return nil
}

// sequenceOptions applies options to rel.Seq; defaults are filled where fresh.
// It returns the value of a RESTART.
func (p *planner) sequenceOptions(rel *catalog.Relation, opts *ast.NodeList, fresh bool) (restart *int64, err error) {
	s := rel.Seq
	seen := map[string]*ast.DefElem{}
	for _, o := range items(opts) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		if seen[d.Defname] != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = d
	}
	num := func(name string) (int64, bool, error) {
		d := seen[name]
		if d == nil || d.Arg == nil {
			return 0, false, nil
		}
		v, err := strconv.ParseInt(text(d.Arg), 10, 64)
		if err != nil {
			return 0, false, pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type bigint", text(d.Arg))
		}
		return v, true, nil
	}
	typed := false
	if d := seen["as"]; d != nil {
		t, err := bind.TypeName(p.env.Bind, d.Arg.(*ast.TypeName))
		if err != nil {
			return nil, err
		}
		if t.OID != types.Int2OID && t.OID != types.Int4OID && t.OID != types.Int8OID {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "sequence type must be smallint, integer, or bigint")
		}
		s.Type, typed = t, true
	}
	if v, ok, err := num("increment"); err != nil {
		return nil, err
	} else if ok {
		if v == 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "INCREMENT must not be zero")
		}
		s.Increment = v
	} else if fresh {
		s.Increment = 1
	}
	if d := seen["cycle"]; d != nil {
		v := text(d.Arg)
		s.Cycle = v == "true" || v == "1"
	}
	lo, hi, _ := s.Type.IntRange()
	if v, ok, err := num("maxvalue"); err != nil {
		return nil, err
	} else if ok {
		s.Max = v
	} else if fresh || seen["maxvalue"] != nil || typed {
		if s.Max = hi; s.Increment < 0 {
			s.Max = -1
		}
	}
	if s.Max > hi || s.Max < lo {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "MAXVALUE (%d) is out of range for sequence data type %s", s.Max, s.Type)
	}
	if v, ok, err := num("minvalue"); err != nil {
		return nil, err
	} else if ok {
		s.Min = v
	} else if fresh || seen["minvalue"] != nil || typed {
		if s.Min = 1; s.Increment < 0 {
			s.Min = lo
		}
	}
	if s.Min < lo || s.Min > hi {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "MINVALUE (%d) is out of range for sequence data type %s", s.Min, s.Type)
	}
	if s.Min >= s.Max {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "MINVALUE (%d) must be less than MAXVALUE (%d)", s.Min, s.Max)
	}
	if v, ok, err := num("start"); err != nil {
		return nil, err
	} else if ok {
		s.Start = v
	} else if fresh {
		if s.Start = s.Min; s.Increment < 0 {
			s.Start = s.Max
		}
	}
	if s.Start < s.Min {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "START value (%d) cannot be less than MINVALUE (%d)", s.Start, s.Min)
	}
	if s.Start > s.Max {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "START value (%d) cannot be greater than MAXVALUE (%d)", s.Start, s.Max)
	}
	if v, ok, err := num("cache"); err != nil {
		return nil, err
	} else if ok {
		if v <= 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "CACHE (%d) must be greater than zero", v)
		}
		s.Cache = v
	} else if fresh {
		s.Cache = 1
	}
	if d := seen["restart"]; d != nil {
		v := s.Start
		if n, ok, err := num("restart"); err != nil {
			return nil, err
		} else if ok {
			v = n
		}
		if v < s.Min {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be less than MINVALUE (%d)", v, s.Min)
		}
		if v > s.Max {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be greater than MAXVALUE (%d)", v, s.Max)
		}
		restart = &v
	} else if !fresh {
		at := p.st.SequenceAt(rel.OID).Last
		if at < s.Min {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be less than MINVALUE (%d)", at, s.Min)
		}
		if at > s.Max {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be greater than MAXVALUE (%d)", at, s.Max)
		}
	}
	if d := seen["owned_by"]; d != nil {
		if err := p.ownedBy(rel, d); err != nil {
			return nil, err
		}
	}
	for name := range seen {
		switch name {
		case "as", "increment", "cycle", "maxvalue", "minvalue", "start", "cache", "restart", "owned_by", "sequence_name":
		default:
			return nil, pgerr.New(pgerr.SyntaxError, "option %q not recognized", name)
		}
	}
	return restart, nil
}

func (p *planner) ownedBy(rel *catalog.Relation, d *ast.DefElem) error {
	l, ok := d.Arg.(*ast.NodeList)
	if !ok {
		return pgerr.New(pgerr.SyntaxError, "invalid OWNED BY option")
	}
	parts := texts(l)
	if len(parts) == 1 && parts[0] == "none" {
		rel.Seq.OwnedTable, rel.Seq.OwnedColumn = 0, 0
		return nil
	}
	if len(parts) < 2 {
		return pgerr.New(pgerr.SyntaxError, "invalid OWNED BY option").WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
	}
	t, column, err := p.columnOf(parts)
	if err != nil {
		return err
	}
	c := t.Column(column)
	if c == nil {
		return pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", column, t.Name)
	}
	if t.Schema != rel.Schema {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
	}
	rel.Seq.OwnedTable, rel.Seq.OwnedColumn = t.OID, c.Num
	return nil
}
