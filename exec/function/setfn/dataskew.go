package setfn

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/sql/types"
)

// AddModels registers what relations about models are made of.
func AddModels(m map[string]function.SetMaker) {
	m["ml_data_skew(bytea,bytea,int4,float8,float8,float8)"] = dataSkew
	m["ml_cumulative_incidence(float8[],text[],int8[])"] = cumulativeIncidence
}

// dataSkew returns a row for each feature: by how much rows differ from those that a model was trained on.
func dataSkew(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	base, err := profile.Decode(args[0].([]byte))
	if err != nil {
		return nil, err
	}
	var study profile.Counts
	if err := study.Take(args[1].([]byte)); err != nil {
		return nil, err
	}
	list, err := profile.Compare(base, &study, profile.Settings{Bins: int(args[2].(int64)), PSI: args[3].(float64), JensenShannon: args[4].(float64), KolmogorovSmirnov: args[5].(float64)})
	if err != nil {
		return nil, err
	}
	texts := func(list []string) types.Datum {
		a := types.Array{Elem: types.Text}
		for _, s := range list {
			a.Elems = append(a.Elems, s)
		}
		return a
	}
	var rows []types.Datum
	for _, d := range list {
		kind := "categorical"
		if d.Numeric {
			kind = "numeric"
		}
		num := types.FiniteOrNull
		rows = append(rows, types.Row{d.Feature, kind, d.BaseRows, d.StudyRows, d.BaseNulls, d.StudyNulls, num(d.PSI), num(d.JensenShannon), num(d.KolmogorovSmirnov),
			num(d.KolmogorovSmirnovP), num(d.ChiSquare), d.DegreesOfFreedom, num(d.ChiSquareP), texts(d.MissingCategories), texts(d.NewCategories), texts(d.Exceeded), len(d.Exceeded) > 0})
	}
	return c.List(rows), nil
}
