package training

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Some functions of TRANSFORM need nothing from the rows of the training: they are abbreviations of expressions, which
// the statement computes and the model keeps as it keeps any others. Decision 107 says why.

// maxExpanded is how many expressions one call may stand for.
const maxExpanded = 1000

// expand returns the items that a call stands for. name is what AS says, "" without.
func expand(fn string, args []ast.Node, name string) ([]transformItem, error) {
	switch fn {
	case "cyclic":
		return cyclic(args, name)
	case "feature_cross":
		return featureCross(args, name)
	}
	return polynomialExpand(args, name)
}

// periods are how many steps parts of a time have until they begin again.
var periods = map[string]int{"second": 60, "minute": 60, "hour": 24, "dow": 7, "isodow": 7, "day": 31, "doy": 366, "week": 53, "month": 12, "quarter": 4}

// cyclic makes a sine and a cosine of a part of a time, or of a number of a given period.
func cyclic(args []ast.Node, name string) ([]transformItem, error) {
	bad := pgerr.New(pgerr.InvalidParameterValue, "ml.cyclic takes a time and one of its parts, or a number and its period").
		WithHint("Write ml.cyclic(x, 'hour'), where the part is second, minute, hour, dow, isodow, day, doy, week, month or quarter, or ml.cyclic(x, 24).")
	if len(args) != 2 {
		return nil, bad
	}
	period, _, err := arguments(args[1:])
	if err != nil {
		return nil, err
	}
	of, suffix, timed := "$1::float8 / "+fmt.Sprint(period[0]), "", false
	if part, ok := period[0].(string); ok {
		part = strings.ToLower(part)
		n, ok := periods[part]
		if !ok {
			return nil, bad
		}
		of, suffix, timed = fmt.Sprintf("date_part('%s', $1) / %d", part, n), "_"+part, true
	} else if v, ok := types.Float(period[0]); !ok || !(v > 0) || v > 1e15 {
		return nil, bad
	}
	if name == "" {
		name = scope.OutputName(args[0]) + suffix
	}
	var items []transformItem
	for _, f := range []string{"sin", "cos"} {
		val, err := instead(f+"(2 * pi() * "+of+")", args[0])
		if err != nil {
			return nil, err
		}
		items = append(items, transformItem{name: name + "_" + f, val: val, needs: []operand{{"cyclic", args[0], timed}}})
	}
	return items, nil
}

// featureCross makes a text of each combination of columns, 2 up to degree of them.
func featureCross(args []ast.Node, name string) ([]transformItem, error) {
	cols, degree, err := columnsAndDegree("feature_cross", args)
	if err != nil {
		return nil, err
	}
	if len(cols) < 2 || degree < 2 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "ml.feature_cross takes two columns or more, and a degree from 2 to 4").WithHint("Write ml.feature_cross((a, b) [, degree]).")
	}
	items, err := combinations(cols, 2, degree, false, func(of []ast.Node) (ast.Node, error) {
		return instead("json_build_array("+places(len(of), "", ", ")+")::text", of...)
	})
	for i := range items {
		switch {
		case name != "" && len(items) == 1:
			items[i].name = name
		case name != "":
			items[i].name = name + "_" + items[i].name
		}
	}
	return items, err
}

// polynomialExpand makes the products of up to degree columns, each as often as it likes.
func polynomialExpand(args []ast.Node, name string) ([]transformItem, error) {
	cols, degree, err := columnsAndDegree("polynomial_expand", args)
	if err != nil {
		return nil, err
	}
	items, err := combinations(cols, 1, degree, true, func(of []ast.Node) (ast.Node, error) {
		if len(of) == 1 {
			return of[0], nil
		}
		return instead(places(len(of), "::float8", " * "), of...)
	})
	for i := range items {
		if name != "" {
			items[i].name = name + "_" + items[i].name
		}
		for _, c := range cols {
			items[i].needs = append(items[i].needs, operand{fn: "polynomial_expand", of: c})
		}
	}
	return items, err
}

// columnsAndDegree reads a list of columns, as a row, an array, BigQuery's STRUCT or one by one, and a degree from 1 to 4, 2 without
// one.
func columnsAndDegree(fn string, args []ast.Node) (cols []ast.Node, degree int, err error) {
	degree = 2
	if last := args[len(args)-1]; len(args) > 1 {
		if n, ok := last.(*ast.NamedArgExpr); ok && strings.EqualFold(n.Name, "degree") {
			last = n.Arg
		}
		if c, ok := last.(*ast.A_Const); ok {
			d, err := optionValue(c)
			n, ok := d.(int64)
			if err != nil || !ok || n < 1 || n > 4 {
				return nil, 0, pgerr.New(pgerr.InvalidParameterValue, "the degree of ml.%s must be from 1 to 4", fn)
			}
			args, degree = args[:len(args)-1], int(n)
		}
	}
	if len(args) == 1 {
		if list := listed(args[0]); list != nil {
			args = list
		}
	}
	for _, a := range args {
		if _, named := a.(*ast.NamedArgExpr); named {
			return nil, 0, pgerr.New(pgerr.InvalidParameterValue, "ml.%s takes columns and a degree", fn)
		}
	}
	return args, degree, nil
}

// listed returns the columns of a row, an array or BigQuery's STRUCT, nil for anything else.
func listed(arg ast.Node) []ast.Node {
	switch list := arg.(type) {
	case *ast.RowExpr:
		return typing.Items(list.Args)
	case *ast.A_ArrayExpr:
		return typing.Items(list.Elements)
	case *ast.ArrayExpr:
		return typing.Items(list.Elements)
	case *ast.FuncCall:
		if names := list.Funcname.Items; len(names) == 1 && strings.EqualFold(parse.ConstText(names[0]), "struct") {
			return typing.Items(list.Args)
		}
	}
	return nil
}

// jointly returns the item of an encoder that fills the gaps of a list of columns from each other: an array of them, with
// NaN for a gap.
func jointly(e *feature.Transform, args []ast.Node) (it transformItem, err error) {
	cols := listed(args[0])
	if cols == nil {
		return it, pgerr.New(pgerr.InvalidParameterValue, "ml.%s takes a list of columns", e.Func).WithHint("Write ml.%s((a, b)).", e.Func)
	}
	for _, c := range cols {
		e.Elements = append(e.Elements, scope.OutputName(c))
	}
	if slices.Contains(e.Elements, "?column?") {
		return it, errUnnamed()
	}
	it.name = strings.Join(e.Elements, "_")
	if e.Args, e.Names, err = arguments(args[1:]); err != nil {
		return it, err
	}
	elements := make([]string, len(cols))
	for i := range cols {
		elements[i] = fmt.Sprintf("coalesce($%d::float8, 'NaN'::float8)", i+1)
		it.needs = append(it.needs, operand{fn: e.Func, of: cols[i]})
	}
	it.val, err = instead("ARRAY["+strings.Join(elements, ", ")+"]", cols...)
	return it, err
}

func errUnnamed() error {
	return pgerr.New(pgerr.SyntaxError, "the columns need names").WithHint("Compute them in the query, with AS and a name.")
}

// combinations returns an item for each choice of least up to most columns, in their order, with or without one more than
// once. Its name is those of the columns.
func combinations(cols []ast.Node, least, most int, again bool, of func(cols []ast.Node) (ast.Node, error)) (items []transformItem, err error) {
	var chosen []ast.Node
	var names []string
	var choose func(from, left int) error
	choose = func(from, left int) error {
		if left == 0 {
			if len(items) == maxExpanded {
				return pgerr.New(pgerr.ProgramLimitExceeded, "an item of TRANSFORM stands for more than %d columns", maxExpanded)
			}
			val, err := of(chosen)
			items = append(items, transformItem{name: strings.Join(names, "_"), val: val})
			return err
		}
		for i := from; i < len(cols); i++ {
			chosen, names = append(chosen, cols[i]), append(names, scope.OutputName(cols[i]))
			next := i + 1
			if again {
				next = i
			}
			if err := choose(next, left-1); err != nil {
				return err
			}
			chosen, names = chosen[:len(chosen)-1], names[:len(names)-1]
		}
		return nil
	}
	for n := least; n <= most; n++ {
		if err := choose(0, n); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(items, func(it transformItem) bool { return strings.Contains(it.name, "?column?") }) {
		return nil, errUnnamed()
	}
	return items, nil
}

// places is $1, $2, … with a suffix each.
func places(n int, suffix, between string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("$%d%s", i+1, suffix)
	}
	return strings.Join(out, between)
}

// instead parses an expression in which $1, $2, … stand for others.
func instead(text string, of ...ast.Node) (ast.Node, error) {
	n, err := typing.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return ast.Rewrite(n, func(c *ast.Cursor) bool {
		if p, ok := c.Node().(*ast.ParamRef); ok {
			c.Replace(ast.CloneNode(of[p.Number-1]))
			return false
		}
		return true
	}, nil), nil
}

// constantFill returns the value by which an imputer replaces NULL, nil if it computes one.
func constantFill(fn string, args []ast.Node) ast.Node {
	if fn != "imputer" || len(args) == 0 {
		return nil
	}
	values, _, err := arguments(args)
	if err != nil {
		return nil
	}
	if word, ok := values[0].(string); ok {
		if len(args) != 2 || !strings.EqualFold(word, "constant") {
			return nil
		}
		args = args[1:]
	} else if _, number := types.Float(values[0]); !number || len(args) > 1 {
		return nil
	}
	if n, ok := args[0].(*ast.NamedArgExpr); ok {
		return n.Arg
	}
	return args[0]
}
