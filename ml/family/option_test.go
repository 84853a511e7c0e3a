package family

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var some = []*Option{
	{Names: []string{"rate", "eta"}, Read: Positive},
	{Names: []string{"kind"}, Read: Word("fast|quick", "slow")},
	{Names: []string{"sizes"}, Read: Integers(1, 10)},
	{Names: []string{"whole"}, Read: Boolean},
	{Names: []string{"col"}, Read: ColumnName},
	{Names: []string{"later"}},
}

func TestOptions(t *testing.T) {
	list := types.Array{Elem: types.Int8, Elems: []types.Datum{int64(3), int64(4)}}
	o, err := Read([]Arg{{"ETA", 0.5, 7}, {"kind", "QUICK", 8}, {"sizes", list, 9}, {"whole", "on", 10}, {"col", "x", 11}}, some)
	if err != nil {
		t.Fatal(err)
	}
	if o.Float("rate", 0) != 0.5 || o.Text("kind", "") != "fast" || len(o.Floats("sizes", nil)) != 2 || !o.Bool("whole", false) || o.Text("col", "") != "x" ||
		o.Pos("rate") != 7 || o.Given("later") || o.Float("later", 3) != 3 {
		t.Errorf("%+v", o)
	}
	var e, e2 canon.E
	o.Encode(&e)
	d := canon.Read(e.B)
	back := DecodeValues(d)
	if back.Encode(&e2); d.Done("options") != nil || !bytes.Equal(e.B, e2.B) {
		t.Error("options do not decode to themselves")
	}
	for n := range e.B {
		d := canon.Read(e.B[:n])
		if DecodeValues(d); d.Done("options") == nil {
			t.Errorf("options cut at %d were read", n)
		}
	}
	for _, c := range []struct {
		arg  Arg
		code pgerr.Code
		text string
	}{
		{Arg{"rat", 1.0, 5}, pgerr.InvalidParameterValue, `Did you mean "rate"?`},
		{Arg{"colour", "red", 5}, pgerr.InvalidParameterValue, "Options are col, kind, rate, sizes, whole."},
		{Arg{"later", true, 5}, pgerr.FeatureNotSupported, "Options are"},
		{Arg{"rate", 0.0, 5}, pgerr.InvalidParameterValue, "a number above 0"},
		{Arg{"kind", "medium", 5}, pgerr.InvalidParameterValue, "one of fast, quick, slow"},
		{Arg{"sizes", int64(11), 5}, pgerr.InvalidParameterValue, "integers from 1 to 10"},
		{Arg{"whole", int64(1), 5}, pgerr.InvalidParameterValue, "true or false"},
	} {
		_, err := Read([]Arg{c.arg}, some)
		if pe := pgerr.From(err); err == nil || pe.Code != c.code || pe.Position != 5 || !strings.Contains(pe.Hint, c.text) {
			t.Errorf("%v: %v", c.arg, err)
		}
	}
	if _, err := Read([]Arg{{"rate", 1.0, 1}, {"eta", 1.0, 2}}, some); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("twice: %v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"kmeans", "random_forest", "gradient_boosted_trees", "pca"}
	for name, want := range map[string]string{"k-means": "kmeans", "kmaens": "kmeans", "randomforest": "random_forest", "gradient_boosted_tree": "gradient_boosted_trees",
		"pac": "pca", "xyzzy": "", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}
