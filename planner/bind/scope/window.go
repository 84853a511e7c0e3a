package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// WindowCall is a window call of a level with its window.
type WindowCall struct {
	Item plan.WindowItem
	Spec *WindowSpec
}

// WindowSpec is a window: what one plan.Window partitions and orders by. Frames
// belong to the calls.
type WindowSpec struct {
	Part  []expr.Expr
	Order []expr.Order
	frame plan.Frame
	plain bool // no frame is written
}

// namedWindow is an item of the WINDOW clause, bound when first used.
type namedWindow struct {
	name string
	def  *ast.WindowDef
	spec *WindowSpec
}

// windowCall returns a column that a Window of the level computes.
func (sc *Scope) windowCall(over *ast.WindowDef, call expr.AggCall, p Place, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	if !p.win || sc.Level == nil {
		return nil, pgerr.New(pgerr.WindowingError, "window functions are not allowed in %s", p.Name).At(pos.At())
	}
	lv := sc.Level
	if err := b.notNested('w', lv, call.Args, pos); err != nil {
		return nil, err
	}
	spec, err := sc.window(over)
	if err != nil {
		return nil, err
	}
	it := &WindowCall{Item: plan.WindowItem{Call: call, Frame: spec.frame}, Spec: spec}
	window := hashSpec(spec)
	whole := window*31 + hashAgg(call)
	for _, w := range lv.windowAt[whole] {
		if equalAgg(w.Item.Call, call) && equalFrame(w.Item.Frame, spec.frame) && equalSpec(w.Spec, spec) && !Volatile(call.Args...) {
			return Col(w.Item.Col), nil
		}
	}
	for _, w := range lv.windowAt[window] { // one Window node computes all calls over a window
		if equalSpec(w.Spec, spec) {
			it.Spec = w.Spec
			break
		}
	}
	if lv.windowAt == nil {
		lv.windowAt = map[uint64][]*WindowCall{}
	}
	if it.Spec == spec {
		lv.windowAt[window] = append(lv.windowAt[window], it)
	}
	lv.windowAt[whole] = append(lv.windowAt[whole], it)
	it.Item.Col = b.NewCol(lv, call.Fn.Shown(), call.Typ)
	b.Stmt.Kind[it.Item.Col.ID] = 'w'
	lv.WindowCalls = append(lv.WindowCalls, it)
	return Col(it.Item.Col), nil
}

// DefineWindows records the WINDOW clause.
func (sc *Scope) DefineWindows(list []ast.Node) error {
	for _, n := range list {
		d := n.(*ast.WindowDef)
		for _, w := range sc.Level.windows {
			if w.name == d.Name {
				return pgerr.New(pgerr.WindowingError, "window \"%s\" is already defined", d.Name).At(sc.Binder.PosIdent(d.Name))
			}
		}
		sc.Level.windows = append(sc.Level.windows, namedWindow{name: d.Name, def: d})
	}
	return nil
}

// CheckWindows binds the named windows that are not used, to report their errors.
func (sc *Scope) CheckWindows() error {
	for i := range sc.Level.windows {
		if _, err := sc.named(sc.Level.windows[i].name, len(sc.Level.windows)); err != nil {
			return err
		}
	}
	return nil
}

// named finds a window of the clause among its first limit items: one may
// refer to those before it only.
func (sc *Scope) named(name string, limit int) (*WindowSpec, error) {
	for i := 0; i < limit; i++ {
		w := &sc.Level.windows[i]
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
	return nil, pgerr.New(pgerr.UndefinedObject, "window \"%s\" does not exist", name).At(sc.Binder.PosIdent(name))
}

// window resolves what stands after OVER.
func (sc *Scope) window(d *ast.WindowDef) (*WindowSpec, error) {
	bare := len(typing.Items(d.PartitionClause)) == 0 && len(typing.Items(d.OrderClause)) == 0 && d.FrameOptions&ast.FRAMEOPTION_NONDEFAULT == 0
	if d.Refname != "" && bare {
		return sc.named(d.Refname, len(sc.Level.windows)) // OVER name: the window, its frame included
	}
	if d.Name != "" {
		return sc.named(d.Name, len(sc.Level.windows))
	}
	return sc.define(d, len(sc.Level.windows))
}

// define binds a window's definition, which may build on a named one.
func (sc *Scope) define(d *ast.WindowDef, limit int) (*WindowSpec, error) {
	b := sc.Binder
	w := &WindowSpec{}
	var base *WindowSpec
	if d.Refname != "" {
		var err error
		if base, err = sc.named(d.Refname, limit); err != nil {
			return nil, err
		}
		w.Part, w.Order = base.Part, base.Order
	}
	p := Place{Name: "window definitions", agg: true}
	if list := typing.Items(d.PartitionClause); len(list) > 0 {
		if base != nil {
			return nil, pgerr.New(pgerr.WindowingError, "cannot override PARTITION BY clause of window \"%s\"", d.Refname).At(b.PosIdent(d.Refname))
		}
		for _, n := range list {
			e, err := sc.Expr(n, p)
			if err != nil {
				return nil, err
			}
			if e, err = b.ResolveUnknown(e); err != nil {
				return nil, err
			}
			if err := b.Comparable(e.Type(), false, b.SpotExpr(n)); err != nil {
				return nil, err
			}
			w.Part = append(w.Part, e)
		}
	}
	if list := typing.Items(d.OrderClause); len(list) > 0 {
		if base != nil && len(base.Order) > 0 {
			return nil, pgerr.New(pgerr.WindowingError, "cannot override ORDER BY clause of window \"%s\"", d.Refname).At(b.PosIdent(d.Refname))
		}
		keys, err := sc.sortKeys(list, p)
		if err != nil {
			return nil, err
		}
		w.Order = keys
	}
	if base != nil && !base.plain {
		return nil, pgerr.New(pgerr.WindowingError, "cannot copy window \"%s\" because it has a frame clause", d.Refname).At(b.PosIdent(d.Refname))
	}
	w.plain = d.FrameOptions&ast.FRAMEOPTION_NONDEFAULT == 0
	return w, sc.frame(d, w)
}

// frame binds the frame clause.
func (sc *Scope) frame(d *ast.WindowDef, w *WindowSpec) error {
	b := sc.Binder
	o := d.FrameOptions
	f := &w.frame
	f.Mode = 'v'
	clause := "RANGE"
	switch {
	case o&ast.FRAMEOPTION_ROWS != 0:
		f.Mode, clause = 'r', "ROWS"
	case o&ast.FRAMEOPTION_GROUPS != 0:
		f.Mode, clause = 'g', "GROUPS"
		if len(w.Order) == 0 {
			return pgerr.New(pgerr.WindowingError, "GROUPS mode requires an ORDER BY clause").At(b.PosWord("groups"))
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
func (sc *Scope) frameOffset(n ast.Node, clause string, w *WindowSpec) (expr.Expr, error) {
	b := sc.Binder
	if n == nil {
		return nil, nil
	}
	if clause == "RANGE" && len(w.Order) != 1 {
		return nil, pgerr.New(pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(b.PosWord("range"))
	}
	e, err := sc.Expr(n, Place{Name: "window " + clause})
	if err != nil {
		return nil, err
	}
	local := false
	b.EachCol(e, func(id expr.ColID) { local = local || b.Stmt.Owner[id] == sc.Level })
	if local {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", clause).At(b.PosExpr(n))
	}
	want := types.Int8
	if clause == "RANGE" {
		key := w.Order[0].Expr.Type()
		switch c := key.Class(); {
		case c == types.ClassInteger:
		case c == types.ClassNumeric:
			want = types.Numeric
		case c == types.ClassFloat:
			want = types.Float8
		case key.IsTime():
			want = types.IntervalT
		default:
			return nil, pgerr.Unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", b.TypeName(key)).At(b.PosExpr(n))
		}
		if !b.CanCoerce(e.Type().OID, want.OID, fn.ImplicitCast) {
			return nil, pgerr.Unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
				b.TypeName(key), b.TypeName(e.Type())).WithHint("Cast the offset value to an appropriate type.").At(b.PosExpr(n))
		}
	} else if !b.CanCoerce(e.Type().OID, want.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", clause, b.TypeName(e.Type())).At(b.PosExpr(n))
	}
	if e, err = b.Coerce(e, want, fn.AssignmentCast, typing.Position{}); err != nil {
		return nil, err
	}
	return b.AsPhysical(e, want), nil
}
