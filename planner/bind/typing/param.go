package typing

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// CloseParams checks that each parameter's type was found.
func (b *Resolver) CloseParams() ([]types.Type, error) {
	for i, t := range b.params.types {
		if t.OID == 0 || t.OID == types.UnknownOID {
			return nil, pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1).At(b.posParam(i + 1))
		}
	}
	return b.params.types, nil
}

// Param binds $n.
func (b *Resolver) Param(n int) (expr.Expr, error) {
	if b.Plain || b.View != nil {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n).At(b.posParam(n))
	}
	if n < 1 || n > 65535 {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n).At(b.posParam(n))
	}
	for len(b.params.types) < n {
		b.params.types = append(b.params.types, types.Type{})
	}
	p := &expr.Param{N: n, Typ: b.params.types[n-1]}
	if p.Typ.OID == 0 || p.Typ.OID == types.UnknownOID {
		p.Typ = types.Unknown
		b.params.unknown[n] = append(b.params.unknown[n], p)
	}
	return p, nil
}

// setParam fixes the type of a parameter that was unknown. The nodes made for it so far get the
// type too: they are not shared yet.
func (b *Resolver) setParam(p *expr.Param, t types.Type) (expr.Expr, error) {
	t = PlainNumeric(t)
	t.Mod = -1
	if had := b.params.types[p.N-1]; had.OID != 0 && had.OID != types.UnknownOID && had.OID != t.OID {
		return nil, pgerr.New(pgerr.AmbiguousParameter, "inconsistent types deduced for parameter $%d", p.N).
			WithDetail("%s versus %s", b.TypeName(had), b.TypeName(t)).At(b.posParam(p.N))
	}
	b.params.types[p.N-1] = t
	for _, q := range b.params.unknown[p.N] {
		q.Typ = t
	}
	b.params.unknown[p.N] = nil
	return &expr.Param{N: p.N, Typ: t}, nil
}
