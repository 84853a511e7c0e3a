package profile

import (
	"cmp"
	"math"
	"slices"
)

// Settings say how data sets are compared.
type Settings struct {
	Bins                                  int // that numbers are cut into, by quantiles of the training rows
	PSI, JensenShannon, KolmogorovSmirnov float64
}

// Difference is what two data sets have of a feature, and by how much they differ. A measure is NaN where it is not
// defined.
type Difference struct {
	Feature                                                                          string
	Numeric                                                                          bool
	BaseRows, StudyRows, BaseNulls, StudyNulls                                       int64
	PSI, JensenShannon, KolmogorovSmirnov, KolmogorovSmirnovP, ChiSquare, ChiSquareP float64
	DegreesOfFreedom                                                                 int64
	MissingCategories, NewCategories                                                 []string // the most frequent ones first
	Exceeded                                                                         []string // measures above their setting
}

// mostShown is how many missing or new categories are shown.
const mostShown = 20

// part is the rows of both data sets in a range of numbers, or of a category.
type part struct{ a, b float64 }

// Compare compares rows with those that a model was trained on, feature by feature.
func Compare(p *Profile, c *Counts, s Settings) ([]Difference, error) {
	if c.bins == nil {
		c.make(len(p.Columns))
	}
	if len(c.fresh) != len(p.Columns) {
		return nil, errDamaged()
	}
	out := make([]Difference, len(p.Columns))
	for i := range p.Columns {
		out[i] = compare(&p.Columns[i], p.Rows, c.Column(i)[:], c.fresh[i], c.Rows, s)
	}
	return out, nil
}

func compare(c *Column, baseRows int64, bins []int64, added []fresh, studyRows int64, s Settings) Difference {
	d := Difference{Feature: c.Name, Numeric: c.Numeric, BaseRows: baseRows, StudyRows: studyRows, BaseNulls: c.Missing, StudyNulls: bins[Missing],
		KolmogorovSmirnov: math.NaN(), KolmogorovSmirnovP: math.NaN()}
	var parts []part
	if c.Numeric {
		parts = d.cut(c, bins, s.Bins)
	} else {
		parts = d.categories(c, bins, added)
	}
	d.measure(append(parts, part{float64(d.BaseNulls), float64(d.StudyNulls)}))
	for _, m := range []struct {
		name        string
		value, most float64
	}{{"psi", d.PSI, s.PSI}, {"jensen_shannon", d.JensenShannon, s.JensenShannon}, {"kolmogorov_smirnov", d.KolmogorovSmirnov, s.KolmogorovSmirnov}} {
		if m.value > m.most {
			d.Exceeded = append(d.Exceeded, m.name)
		}
	}
	return d
}

// cut makes bins parts of numbers, each up to where the share of the training rows passes one of as many steps, as
// ml.validate_data_drift has them; and the greatest difference of the shares of rows up to a number.
func (d *Difference) cut(c *Column, bins []int64, most int) (parts []part) {
	na, nb := float64(d.BaseRows-d.BaseNulls), float64(d.StudyRows-d.StudyNulls)
	var sum, last part
	before := 0.0
	if na > 0 && nb > 0 {
		d.KolmogorovSmirnov = 0
	}
	for k, n := range c.Counts {
		sum.a, sum.b = sum.a+float64(n), sum.b+float64(bins[k])
		d.KolmogorovSmirnov = math.Max(d.KolmogorovSmirnov, math.Abs(sum.a/na-sum.b/nb))
		if step := math.Floor(float64(most) * sum.a / na); step > before && before+1 < float64(most) {
			parts = append(parts, part{sum.a - last.a, sum.b - last.b})
			last, before = sum, step
		}
	}
	if d.KolmogorovSmirnov == d.KolmogorovSmirnov {
		d.KolmogorovSmirnovP = kolmogorov(math.Sqrt(na*nb/(na+nb)) * d.KolmogorovSmirnov)
	}
	return append(parts, part{na - last.a, nb - last.b})
}

// categories makes a part of each category that training has seen, of all others of these, and of those that are new.
func (d *Difference) categories(c *Column, bins []int64, added []fresh) (parts []part) {
	var gone []fresh
	for k, n := range c.Counts {
		parts = append(parts, part{float64(n), float64(bins[k])})
		if k < len(c.Categories) && n > 0 && bins[k] == 0 {
			gone = append(gone, fresh{c.Categories[k], n})
		}
	}
	d.MissingCategories, d.NewCategories = shown(gone), shown(added)
	return append(parts, part{0, float64(bins[New])})
}

// shown lists the names of the most frequent.
func shown(list []fresh) []string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b fresh) int { return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.name, b.name)) })
	out := []string{}
	for _, f := range list[:min(len(list), mostShown)] {
		out = append(out, f.name)
	}
	return out
}

// least is what a share counts at least in the PSI, which would be infinite without.
const least = 1e-4

// measure sets the measures that are functions of the shares of parts. One that is empty does not count.
func (d *Difference) measure(parts []part) {
	na, nb := float64(d.BaseRows), float64(d.StudyRows)
	var psi, js, chi float64
	some := 0
	for _, p := range parts {
		if p.a+p.b == 0 {
			continue
		}
		some++
		a, b := least, least
		if na > 0 {
			a = math.Max(p.a/na, least)
		}
		if nb > 0 {
			b = math.Max(p.b/nb, least)
		}
		psi += (b - a) * math.Log(b/a)
		if na == 0 || nb == 0 {
			continue
		}
		mean := (p.a/na + p.b/nb) / 2
		for _, share := range []float64{p.a / na, p.b / nb} {
			if share > 0 {
				js += share * math.Log(share/mean)
			}
		}
		apart := p.a*nb - p.b*na
		chi += apart * apart / ((p.a + p.b) * na * nb)
	}
	d.PSI, d.JensenShannon, d.ChiSquare, d.ChiSquareP = psi, math.NaN(), math.NaN(), math.NaN()
	if na > 0 && nb > 0 {
		d.JensenShannon, d.ChiSquare, d.DegreesOfFreedom = math.Sqrt(math.Max(js/2, 0)), chi, int64(max(some-1, 0))
		if some > 1 {
			d.ChiSquareP = gammaQ(float64(some-1)/2, chi/2)
		}
	}
}
