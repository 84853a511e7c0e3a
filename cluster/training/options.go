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
		v, err := optionValue(o.Value)
		if err != nil {
			return nil, pgerr.From(err).At(o.Pos)
		}
		out = append(out, family.Arg{Name: o.Name, Value: v, Pos: o.Pos})
	}
	return out, nil
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
		if name := v.Funcname.Items; len(name) == 1 && strings.EqualFold(parse.ConstText(name[0]), "struct") {
			return optionValue(ast.NewArrayConstructor(v.Args))
		}
	case *ast.TypeCast:
		return optionValue(v.Arg)
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
