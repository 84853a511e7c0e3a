package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// winItem is a window call of a level with its window.
type winItem struct {
	item plan.WindowItem
	spec *winSpec
}

// winSpec is a window: what one plan.Window partitions and orders by. Frames
// belong to the calls.
type winSpec struct {
	part  []expr.Expr
	order []expr.Order
	frame plan.Frame
	plain bool // no frame is written
}

// namedWindow is an item of the WINDOW clause, bound when first used.
type namedWindow struct {
	name string
	def  *ast.WindowDef
	spec *winSpec
}

// windowCall leaves a column behind that a Window of the level fills.
func (sc *scope) windowCall(over *ast.WindowDef, call expr.AggCall, p place, pos spot) (expr.Expr, error) {
	b := sc.b
	if !p.win || sc.lv == nil {
		return nil, pgerr.New(pgerr.WindowingError, "window functions are not allowed in %s", p.name).At(pos.at())
	}
	lv := sc.lv
	var nested error
	for _, a := range call.Args {
		b.eachCol(a, func(id expr.ColID) {
			if b.st.owner[id] != lv {
				return
			}
			switch b.st.kind[id] {
			case 'w':
				nested = pgerr.New(pgerr.WindowingError, "window function calls cannot be nested").At(pos.at())
			case 's':
				nested = pgerr.Unsupported("window function calls cannot contain set-returning function calls").
					WithHint("You might be able to move the set-returning function into a LATERAL FROM item.").At(pos.at())
			}
		})
	}
	if nested != nil {
		return nil, nested
	}
	spec, err := sc.window(over)
	if err != nil {
		return nil, err
	}
	it := &winItem{item: plan.WindowItem{Call: call, Frame: spec.frame}, spec: spec}
	for _, w := range lv.wins {
		if equalAgg(w.item.Call, call) && equalFrame(w.item.Frame, spec.frame) && equalSpec(w.spec, spec) && !volatile(call.Args...) {
			return col(w.item.Col), nil
		}
	}
	for _, w := range lv.wins { // one Window node computes all calls over a window
		if equalSpec(w.spec, spec) {
			it.spec = w.spec
			break
		}
	}
	it.item.Col = b.newCol(lv, call.Fn.Name, call.Typ)
	b.st.kind[it.item.Col.ID] = 'w'
	lv.wins = append(lv.wins, it)
	return col(it.item.Col), nil
}

// defineWindows takes note of the WINDOW clause.
func (sc *scope) defineWindows(list []ast.Node) error {
	for _, n := range list {
		d := n.(*ast.WindowDef)
		for _, w := range sc.lv.windows {
			if w.name == d.Name {
				return pgerr.New(pgerr.WindowingError, "window \"%s\" is already defined", d.Name).At(sc.b.posIdent(d.Name))
			}
		}
		sc.lv.windows = append(sc.lv.windows, namedWindow{name: d.Name, def: d})
	}
	return nil
}

// checkWindows binds the named windows that nobody used: they may be wrong.
func (sc *scope) checkWindows() error {
	for i := range sc.lv.windows {
		if _, err := sc.named(sc.lv.windows[i].name, len(sc.lv.windows)); err != nil {
			return err
		}
	}
	return nil
}

// named finds a window of the clause among its first limit items: one may
// refer to those before it only.
func (sc *scope) named(name string, limit int) (*winSpec, error) {
	for i := 0; i < limit; i++ {
		w := &sc.lv.windows[i]
		if w.name != name {
			continue
		}
		if w.spec == nil {
			s, err := sc.define(w.def, i)
			if err != nil {
				return nil, err
			}
			w.spec = s
		}
		return w.spec, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "window \"%s\" does not exist", name).At(sc.b.posIdent(name))
}

// window resolves what stands after OVER.
func (sc *scope) window(d *ast.WindowDef) (*winSpec, error) {
	bare := len(items(d.PartitionClause)) == 0 && len(items(d.OrderClause)) == 0 && d.FrameOptions&ast.FRAMEOPTION_NONDEFAULT == 0
	if d.Refname != "" && bare {
		return sc.named(d.Refname, len(sc.lv.windows)) // OVER name: the window, its frame included
	}
	if d.Name != "" {
		return sc.named(d.Name, len(sc.lv.windows))
	}
	return sc.define(d, len(sc.lv.windows))
}

// define binds a window's definition, which may build on a named one.
func (sc *scope) define(d *ast.WindowDef, limit int) (*winSpec, error) {
	b := sc.b
	w := &winSpec{}
	var base *winSpec
	if d.Refname != "" {
		var err error
		if base, err = sc.named(d.Refname, limit); err != nil {
			return nil, err
		}
		w.part, w.order = base.part, base.order
	}
	p := place{name: "window definitions", agg: true}
	if list := items(d.PartitionClause); len(list) > 0 {
		if base != nil {
			return nil, pgerr.New(pgerr.WindowingError, "cannot override PARTITION BY clause of window \"%s\"", d.Refname).At(b.posIdent(d.Refname))
		}
		for _, n := range list {
			e, err := sc.expr(n, p)
			if err != nil {
				return nil, err
			}
			if e, err = b.known(e); err != nil {
				return nil, err
			}
			if err := b.comparable(e.Type(), false, b.spotExpr(n)); err != nil {
				return nil, err
			}
			w.part = append(w.part, e)
		}
	}
	if list := items(d.OrderClause); len(list) > 0 {
		if base != nil && len(base.order) > 0 {
			return nil, pgerr.New(pgerr.WindowingError, "cannot override ORDER BY clause of window \"%s\"", d.Refname).At(b.posIdent(d.Refname))
		}
		keys, err := sc.sortKeys(list, p)
		if err != nil {
			return nil, err
		}
		w.order = keys
	}
	if base != nil && !base.plain {
		return nil, pgerr.New(pgerr.WindowingError, "cannot copy window \"%s\" because it has a frame clause", d.Refname).At(b.posIdent(d.Refname))
	}
	w.plain = d.FrameOptions&ast.FRAMEOPTION_NONDEFAULT == 0
	return w, sc.frame(d, w)
}

// frame binds the frame clause.
func (sc *scope) frame(d *ast.WindowDef, w *winSpec) error {
	b := sc.b
	o := d.FrameOptions
	f := &w.frame
	f.Mode = 'v'
	clause := "RANGE"
	switch {
	case o&ast.FRAMEOPTION_ROWS != 0:
		f.Mode, clause = 'r', "ROWS"
	case o&ast.FRAMEOPTION_GROUPS != 0:
		f.Mode, clause = 'g', "GROUPS"
		if len(w.order) == 0 {
			return pgerr.New(pgerr.WindowingError, "GROUPS mode requires an ORDER BY clause").At(b.posWord("groups"))
		}
	}
	switch {
	case o&ast.FRAMEOPTION_START_CURRENT_ROW != 0:
		f.Start.Kind = plan.CurrentRow
	case o&ast.FRAMEOPTION_START_OFFSET_PRECEDING != 0:
		f.Start.Kind = plan.Preceding
	case o&ast.FRAMEOPTION_START_OFFSET_FOLLOWING != 0:
		f.Start.Kind = plan.Following
	default:
		f.Start.Kind = plan.UnboundedPreceding
	}
	switch {
	case o&ast.FRAMEOPTION_END_UNBOUNDED_FOLLOWING != 0:
		f.End.Kind = plan.UnboundedFollowing
	case o&ast.FRAMEOPTION_END_OFFSET_PRECEDING != 0:
		f.End.Kind = plan.Preceding
	case o&ast.FRAMEOPTION_END_OFFSET_FOLLOWING != 0:
		f.End.Kind = plan.Following
	default:
		f.End.Kind = plan.CurrentRow
	}
	switch {
	case o&ast.FRAMEOPTION_EXCLUDE_CURRENT_ROW != 0:
		f.Exclude = 'c'
	case o&ast.FRAMEOPTION_EXCLUDE_GROUP != 0:
		f.Exclude = 'g'
	case o&ast.FRAMEOPTION_EXCLUDE_TIES != 0:
		f.Exclude = 't'
	}
	var err error
	if f.Start.Offset, err = sc.frameOffset(d.StartOffset, clause, w); err != nil {
		return err
	}
	f.End.Offset, err = sc.frameOffset(d.EndOffset, clause, w)
	return err
}

// frameOffset binds the n of n PRECEDING or FOLLOWING.
func (sc *scope) frameOffset(n ast.Node, clause string, w *winSpec) (expr.Expr, error) {
	b := sc.b
	if n == nil {
		return nil, nil
	}
	if clause == "RANGE" && len(w.order) != 1 {
		return nil, pgerr.New(pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(b.posWord("range"))
	}
	e, err := sc.expr(n, place{name: "window " + clause})
	if err != nil {
		return nil, err
	}
	local := false
	b.eachCol(e, func(id expr.ColID) { local = local || b.st.owner[id] == sc.lv })
	if local {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", clause).At(b.posExpr(n))
	}
	want := types.Int8
	if clause == "RANGE" {
		key := w.order[0].Expr.Type()
		switch key.OID {
		case types.Int2OID, types.Int4OID, types.Int8OID:
		case types.NumericOID:
			want = types.Numeric
		case types.Float4OID, types.Float8OID:
			want = types.Float8
		case types.DateOID, types.TimeOID, types.TimetzOID, types.TimestampOID, types.TimestamptzOID, types.IntervalOID:
			want = types.IntervalT
		default:
			return nil, pgerr.Unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", b.typeName(key)).At(b.posExpr(n))
		}
		if !b.canCoerce(e.Type().OID, want.OID, fn.ImplicitCast) {
			return nil, pgerr.Unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
				b.typeName(key), b.typeName(e.Type())).WithHint("Cast the offset value to an appropriate type.").At(b.posExpr(n))
		}
	} else if !b.canCoerce(e.Type().OID, want.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", clause, b.typeName(e.Type())).At(b.posExpr(n))
	}
	if e, err = b.coerce(e, want, fn.AssignmentCast, spot{}); err != nil {
		return nil, err
	}
	return b.recarry(e, want), nil
}
