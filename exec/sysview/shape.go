package sysview

import (
	"embed"
	"strconv"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// A shape file has a relation a line, continued on lines that begin with a tab:
//
//	oid kind name column:type column:type(modifier)! …
//
// with typnames as in pg_type and ! for NOT NULL; kind vm is of a view that takes
// a model's name, vn of one of which each node has some rows (ofNodes). Types that the database does
// not have are represented as text.
//
//go:embed tables/*.txt
var tables embed.FS

// shape is the fixed part of a relation.
type shape struct {
	oid     types.OID
	schema  types.OID
	space   string // the schema's name
	name    string
	kind    byte // 'r' or 'v', as pg_class.relkind
	ofModel bool // it may be called with a model's name
	ofNodes bool // each node has some of its rows
	cols    []plan.Column
	notNull []bool
	index   map[string]int
	rows    producer // nil: no rows
}

// keyed returns the shape that the relation has for the model that its arguments name: with the keys of its
// groups in front, if it has groups and the relation looks into it.
func (s *shape) keyed(st *catalog.State, args []types.Datum) *shape {
	if _, many := s.index["model"]; many && s.name != "trials" || !s.ofModel || len(args) < 2 {
		return s
	}
	_, x, err := (&view{st: st, args: args}).version()
	var time *catalog.ModelFeature
	if s.name == "forecast" && err == nil {
		time = x.Time()
	}
	if err != nil || x.Groups == nil && time == nil || s.name == "trials" && x.Search != nil { // the trials are of all groups
		return s
	}
	out := *s
	out.cols = nil
	if x.Groups != nil {
		for _, k := range x.Groups.By {
			out.cols = append(out.cols, plan.Column{Name: k.Name, Type: k.Shown()})
		}
	}
	if time != nil {
		out.cols = append(out.cols, plan.Column{Name: time.Name, Type: time.Type})
	}
	out.cols = append(out.cols, s.cols...)
	return &out
}

type shapeKey struct{ schema, name string }

// Shapes knows the columns of all relations of this package; it implements the
// binder's catalog of virtual relations.
type Shapes struct {
	list   []*shape // by OID within a schema
	byName map[shapeKey]*shape
	byOID  map[types.OID]*shape
}

var shapes = sync.OnceValue(func() *Shapes {
	s := &Shapes{byName: map[shapeKey]*shape{}, byOID: map[types.OID]*shape{}}
	for _, f := range []struct {
		name string
		oid  types.OID
	}{{"pg_catalog", catalog.PgCatalogOID}, {"information_schema", catalog.InformationOID},
		{"ml", catalog.MLSchemaOID}, {"cluster", catalog.ClusterSchemaOID}} {
		for _, l := range tableLines(f.name) {
			sh := parseShape(l)
			sh.schema, sh.space = f.oid, f.name
			sh.rows = producers[f.name+"."+sh.name]
			if sh.ofNodes {
				sh.rows = ofNodes
			}
			s.list = append(s.list, sh)
			s.byName[shapeKey{f.name, sh.name}] = sh
			s.byOID[sh.oid] = sh
		}
	}
	// A sequence's row: the sequence is an argument, so the name alone has no row.
	seq := parseShape("0 r " + plan.SequenceRow + " last_value:int8! log_cnt:int8! is_called:bool!")
	seq.schema, seq.space, seq.rows = catalog.PgCatalogOID, "pg_catalog", sequenceRow
	s.byName[shapeKey{"pg_catalog", plan.SequenceRow}] = seq
	return s
})

// Catalog returns the shapes of all relations.
func Catalog() *Shapes { return shapes() }

// tableLines returns the lines of an embedded table, continuations joined.
func tableLines(name string) []string {
	b, err := tables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		panic("BUG: sysview: " + err.Error())
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), "\n\t", " ")), "\n")
}

func parseShape(line string) *shape {
	f := strings.Fields(line)
	sh := &shape{oid: types.OID(parseNumber(f[0])), kind: f[1][0], ofModel: f[1] == "vm", ofNodes: f[1] == "vn", name: f[2], index: map[string]int{}}
	for i, c := range f[3:] {
		name, typ, _ := strings.Cut(c, ":")
		typ, notNull := strings.CutSuffix(typ, "!")
		t := types.Type{Mod: -1}
		if base, mod, ok := strings.Cut(typ, "("); ok {
			t.Mod = int32(parseNumber(strings.TrimSuffix(mod, ")")))
			typ = base
		}
		oid, ok := types.ByTypname(typ)
		if !ok {
			panic("BUG: sysview: type " + typ + " of " + sh.name + "." + name)
		}
		t.OID = oid
		sh.cols = append(sh.cols, plan.Column{Name: name, Type: t, Num: int16(i + 1)})
		sh.notNull = append(sh.notNull, notNull)
		sh.index[name] = i
	}
	return sh
}

func parseNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("BUG: sysview: " + err.Error())
	}
	return n
}

// Virtual returns a relation's columns, Name, Type and Num, and a table's OID, 0
// for a view.
func (s *Shapes) Virtual(schema, name string) (cols []plan.Column, table types.OID, ok bool) {
	sh := s.byName[shapeKey{schema, name}]
	if sh == nil {
		return nil, 0, false
	}
	if sh.kind == 'r' {
		table = sh.oid
	}
	return append(cols, sh.cols...), table, true
}

// OfModel reports whether a relation may be called with a model's name.
func (s *Shapes) OfModel(schema, name string) bool {
	sh := s.byName[shapeKey{schema, name}]
	return sh != nil && sh.ofModel
}

// RelationOID finds the OID of a relation of this package.
func RelationOID(schema, name string) (types.OID, bool) {
	sh := shapes().byName[shapeKey{schema, name}]
	if sh == nil {
		return 0, false
	}
	return sh.oid, true
}

// RelationName is the inverse of RelationOID.
func RelationName(oid types.OID) (schema, name string, ok bool) {
	sh := shapes().byOID[oid]
	if sh == nil {
		return "", "", false
	}
	return sh.space, sh.name, true
}
