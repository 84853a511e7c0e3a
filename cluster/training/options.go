package training

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// arguments are the options of a statement.
func (s Statement) arguments() (out []family.Arg, err error) {
	for _, o := range s.Options {
		v, err := searchedValue(o.Value)
		if err != nil {
			return nil, pgerr.From(err).At(o.Pos)
		}
		out = append(out, family.Arg{Name: o.Name, Value: v, Pos: o.Pos})
	}
	return out, nil
}

// The functions that say what an option's values are in a search, as in BigQuery ML.
const (
	hparamRange      = "hparam_range"
	hparamCandidates = "hparam_candidates"
)

// calls returns the name of a function that is called, "" of anything else.
func calls(n ast.Node) string {
	if f, ok := n.(*ast.FuncCall); ok && f.Funcname != nil && len(f.Funcname.Items) == 1 {
		return strings.ToLower(parse.ConstText(f.Funcname.Items[0]))
	}
	return ""
}

// searchedValue reads an option that may be a dimension of a search.
func searchedValue(n ast.Node) (types.Datum, error) {
	bad := func(format string, args ...any) (types.Datum, error) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, format, args...)
	}
	name := calls(n)
	if name != hparamRange && name != hparamCandidates {
		return optionValue(n)
	}
	var values []types.Datum
	d := &family.Dimension{}
	if list := n.(*ast.FuncCall).Args; list != nil {
		for _, a := range list.Items {
			named, ok := a.(*ast.NamedArgExpr)
			if ok {
				a = named.Arg
			}
			v, err := optionValue(a)
			if err != nil {
				return nil, err
			}
			switch log, is := v.(bool); {
			case !ok:
				values = append(values, v)
			case name == hparamRange && strings.EqualFold(named.Name, "log") && is:
				d.Log = log
			default:
				return bad("%s has no argument %q", name, named.Name)
			}
		}
	}
	if name == hparamRange {
		if len(values) != 2 {
			return bad("hparam_range needs two numbers: hparam_range(from, to [, log => true])")
		}
		d.Lo, d.Hi = values[0], values[1]
		return d, nil
	}
	list, ok := types.Array{}, false
	if len(values) == 1 {
		list, ok = values[0].(types.Array)
	}
	if !ok || len(list.Elems) == 0 {
		return bad("hparam_candidates needs a list of values: hparam_candidates([…])")
	}
	for _, v := range list.Elems {
		if a, ok := v.(types.Array); ok && len(a.Elems) == 1 {
			if inner, ok := a.Elems[0].(types.Array); ok {
				v = inner // a list in BigQuery's STRUCT([64, 32])
			}
		}
		d.Candidates = append(d.Candidates, v)
	}
	return d, nil
}

// optionValue reads a constant option: a number, a string, a word, a list.
func optionValue(n ast.Node) (types.Datum, error) {
	switch v := n.(type) {
	case *ast.A_Const:
		if v.Isnull || v.Val == nil {
			return nil, nil
		}
		switch c := v.Val.(type) {
		case *ast.Integer:
			return int64(c.IVal), nil
		case *ast.Float:
			return number.ParseDecimal(c.FVal)
		case *ast.Boolean:
			return c.BoolVal, nil
		case *ast.Null:
			return nil, nil
		}
		return parse.ConstText(v.Val), nil
	case *ast.ColumnRef:
		return wordText(v), nil
	case *ast.ParenExpr:
		return optionValue(v.Expr)
	case *ast.A_Expr:
		if v.Lexpr == nil && v.Name != nil && len(v.Name.Items) == 1 && parse.ConstText(v.Name.Items[0]) == "-" {
			d, err := optionValue(v.Rexpr)
			if err != nil {
				return nil, err
			}
			switch x := d.(type) {
			case int64:
				return -x, nil
			case number.Decimal:
				return x.Neg(), nil
			}
		}
	case *ast.ArrayExpr:
		var out types.Array
		out.Elem = types.Text
		if v.Elements != nil {
			for i, e := range v.Elements.Items {
				d, err := optionValue(e)
				if err != nil {
					return nil, err
				}
				if _, num := d.(number.Decimal); num && i == 0 {
					out.Elem = types.Numeric
				} else if _, num := d.(int64); num && i == 0 {
					out.Elem = types.Int8
				}
				out.Elems = append(out.Elems, d)
			}
		}
		return out, nil
	case *ast.RowExpr: // a pair, ('yes', 2)
		return optionValue(ast.NewArrayConstructor(v.Args))
	case *ast.FuncCall: // BigQuery's STRUCT('yes', 2)
		switch name := calls(v); name {
		case "struct":
			return optionValue(ast.NewArrayConstructor(v.Args))
		case hparamRange, hparamCandidates:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s within another value: settings that depend on others cannot be searched", name).
				WithHint("Search each option for itself; combinations that do not fit are trials that fail.")
		}
	case *ast.TypeCast:
		return optionValue(v.Arg)
	case *ast.CaseExpr:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "an option's value must be a constant: settings that depend on others cannot be searched").
			WithHint("Search each option for itself; combinations that do not fit are trials that fail.")
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "an option's value must be a constant")
}

// wordText returns a bare word, or the words of a qualified name.
func wordText(v *ast.ColumnRef) string {
	if v.Fields == nil || len(v.Fields.Items) < 2 {
		return parse.ConstText(v)
	}
	var names []string
	for _, f := range v.Fields.Items {
		names = append(names, lex.QuoteName(parse.ConstText(f)))
	}
	return strings.Join(names, ".")
}
