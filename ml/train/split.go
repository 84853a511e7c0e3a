package train

import (
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func find(cols []record.Column, name string) int {
	for i, c := range cols {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

func undefined(column string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query", column)
}

// Split is a holdout that a column decides.
type Split struct {
	Column string // as spelled in the query
	// Seq: the rows with the largest values, a share of Fraction, are held out. The job's
	// query then has this decision in the column already. Else it is a boolean, whose true
	// and NULL rows are held out.
	Seq      bool
	Fraction float64
}

// ReadSplit reads the options that name such a column; nil where none does.
func ReadSplit(args []family.Arg, cols []record.Column) (*Split, error) {
	var of []family.Arg
	pos := map[string]int{}
	for _, a := range args {
		switch d := family.Find(family.Common, a.Name); {
		case d == nil:
		case d.Names[0] == "data_split_col", d.Names[0] == "data_split_method", d.Names[0] == "data_split_eval_fraction":
			of, pos[d.Names[0]] = append(of, a), a.Pos
		}
	}
	o, err := family.Read(of, family.Common)
	if err != nil {
		return nil, err
	}
	name, method := o.Text("data_split_col", ""), o.Text("data_split_method", "")
	if name == "" {
		if method == "seq" || method == "custom" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "data_split_method %q needs a column", method).At(pos["data_split_method"]).
				WithHint("Name it by data_split_col.")
		}
		return nil, nil
	}
	at := find(cols, name)
	if at < 0 {
		return nil, undefined(name).At(pos["data_split_col"])
	}
	boolean := cols[at].Type.OID == types.BoolOID
	if method == "" {
		method = "seq"
		if boolean {
			method = "custom"
		}
	}
	switch {
	case method != "seq" && method != "custom":
		return nil, pgerr.New(pgerr.InvalidParameterValue, "data_split_method %q takes no column", method).At(pos["data_split_col"]).
			WithHint("data_split_col is for the methods seq and custom.")
	case method == "custom" && !boolean:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column %q, which says what is held out, must be boolean", cols[at].Name).OnColumn(cols[at].Name).
			At(pos["data_split_col"]).WithHint("Compute it in the query, or use data_split_method = 'seq' to hold out the rows with the largest values.")
	case method == "custom" && o.Given("data_split_eval_fraction"):
		return nil, pgerr.New(pgerr.InvalidParameterValue, "column %q says what is held out, not a fraction", cols[at].Name).At(pos["data_split_eval_fraction"])
	}
	return &Split{Column: cols[at].Name, Seq: method == "seq", Fraction: o.Float("data_split_eval_fraction", 0.2)}, nil
}

// Decided returns the options for a query whose column itself says which rows are held out, instead of
// their order (Seq).
func (s *Split) Decided(args []family.Arg) (out []family.Arg) {
	for _, a := range args {
		d := family.Find(family.Common, a.Name)
		if d == nil || d.Names[0] != "data_split_method" && d.Names[0] != "data_split_eval_fraction" {
			out = append(out, a)
		}
	}
	return out
}
