package families

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// Rows returns the rows of ml.algorithms or ml.options, made of what the statement's options are
// read by; ok is false for other relations.
func Rows(relation string) (rows [][]types.Datum, ok bool) {
	switch relation {
	case "algorithms":
		for _, f := range All {
			i := f.Info()
			var kinds []string
			supervised := false
			for _, t := range i.Tasks() {
				kinds = append(kinds, string(t))
				supervised = supervised || t == family.Classification || t == family.Regression || t == family.TimeToEvent || t == family.Forecasting || t == family.Recommendation
			}
			rows = append(rows, []types.Datum{i.Name, strings.Join(kinds, ", "), supervised, array(i.Others()), plain(i.Doc)})
		}
	case "options":
		for _, f := range All {
			for _, o := range slices.Concat(f.Options(), family.Common) {
				d := o.Domain()
				// As the parser finds them: of options of one name the common one is meant.
				common := family.Find(family.Common, o.Names[0]) != nil
				if common && !slices.Contains(family.Common, o) {
					continue
				}
				var words types.Datum
				if d.Words != nil {
					words = array(d.Words)
				}
				rows = append(rows, []types.Datum{f.Info().Name, o.Names[0], text(o.Type), text(plain(o.Default)), bound(d.Min), bound(d.Max), words,
					text(d.Want), array(o.Names[1:]), common, o.Read != nil, plain(o.Doc)})
			}
		}
	default:
		return nil, false
	}
	return rows, true
}

func text(s string) types.Datum {
	if s == "" {
		return nil
	}
	return s
}

func array(texts []string) types.Datum {
	a := types.Array{Elem: types.Text}
	for _, t := range texts {
		a.Elems = append(a.Elems, t)
	}
	return a
}

func bound(f float64) types.Datum {
	if math.IsInf(f, 0) {
		return nil
	}
	return f
}

var link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// plain is a sentence of the manual as plain text.
func plain(doc string) string { return strings.ReplaceAll(link.ReplaceAllString(doc, "$1"), "`", "") }
