package agg_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// reference computes an aggregate by its definition over the rows of one group, in exact arithmetic
// where it can.
func (s spec) reference(t *testing.T, rows []types.Row) types.Datum {
	t.Helper()
	rows = s.arranged(rows)
	name := s.name()
	switch {
	case s.call.Star:
		return int64(len(rows))
	case name == "concordance_index":
		return concordanceReference(rows)
	case name == "concordance_index_ipcw":
		return unoReference(rows)
	case name == "ml_bin_counts":
		return binReference(t, rows)
	case name == "ndcg":
		return ndcgReference(rows)
	case name == "log_loss" && len(s.ts) == 3:
		return classLossReference(s.ts[0], rows)
	case name == "top_k_accuracy":
		return topReference(s.ts[0], rows)
	case isMetric(name):
		return metricReference(t, name, s.ts[0], rows)
	case len(s.ts) == 2 && s.ts[0].OID == types.Float8OID && (strings.HasPrefix(name, "regr_") || strings.HasPrefix(name, "co")):
		return pairs(name, rows)
	}
	var some []types.Datum // the first column without NULLs
	for _, r := range rows {
		if r[0] != nil {
			some = append(some, r[0])
		}
	}
	switch name {
	case "count":
		return int64(len(some))
	case "array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		return s.collected(t, rows)
	case "percentile_cont", "percentile_disc":
		return s.percentile(rows)
	case "mode":
		var best types.Datum
		most := 0
		for _, d := range some {
			n := 0
			for _, e := range some {
				if types.Compare(s.ts[0], d, e) == 0 {
					n++
				}
			}
			if n > most || n == most && types.Compare(s.ts[0], d, best) < 0 {
				best, most = d, n
			}
		}
		return best
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return s.rank(rows)
	}
	if len(some) == 0 {
		return nil
	}
	switch name {
	case "min", "max":
		out := some[0]
		for _, d := range some[1:] {
			if c := types.Compare(s.ts[0], d, out); name == "min" && c < 0 || name == "max" && c > 0 {
				out = d
			}
		}
		return out
	case "bool_and", "every", "bool_or":
		return slices.Contains(some, types.Datum(name == "bool_or")) == (name == "bool_or")
	case "bit_and", "bit_or", "bit_xor":
		if s.ts[0].OID == types.BitOID {
			out := []byte(some[0].(string))
			for _, d := range some[1:] {
				for i, c := range []byte(d.(string)) {
					a, b := out[i] == '1', c == '1'
					on := a && b
					switch name {
					case "bit_or":
						on = a || b
					case "bit_xor":
						on = a != b
					}
					out[i] = "01"[map[bool]int{true: 1}[on]]
				}
			}
			return string(out)
		}
		out := some[0].(int64)
		for _, d := range some[1:] {
			switch name {
			case "bit_and":
				out &= d.(int64)
			case "bit_or":
				out |= d.(int64)
			default:
				out ^= d.(int64)
			}
		}
		return out
	}
	if s.ts[0].OID == types.IntervalOID {
		var sum datetime.Interval
		for _, d := range some {
			v := d.(datetime.Interval)
			sum = datetime.Interval{Months: sum.Months + v.Months, Days: sum.Days + v.Days, Micros: sum.Micros + v.Micros}
		}
		if name == "avg" {
			out, err := datetime.IntervalDiv(sum, float64(len(some)))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		return sum
	}
	return moments(t, name, s.call.Typ, some)
}

// arranged sorts the rows and removes duplicates as the call says. (mode sorts by itself.)
func (s spec) arranged(rows []types.Row) []types.Row {
	at := len(s.call.Args)
	out := slices.Clone(rows)
	if len(s.call.OrderBy) > 0 {
		slices.SortStableFunc(out, func(a, b types.Row) int {
			o := s.call.OrderBy[0]
			switch {
			case a[at] == nil && b[at] == nil:
				return 0
			case a[at] == nil && !o.NullsFirst, b[at] == nil && o.NullsFirst:
				return 1
			case a[at] == nil || b[at] == nil:
				return -1
			case o.Desc:
				return -types.Compare(s.ts[at], a[at], b[at])
			}
			return types.Compare(s.ts[at], a[at], b[at])
		})
	}
	if s.call.Distinct {
		out = slices.CompactFunc(out, func(a, b types.Row) bool {
			return a[0] == nil && b[0] == nil || a[0] != nil && b[0] != nil && types.Compare(s.ts[0], a[0], b[0]) == 0
		})
	}
	return out
}

func rat(d types.Datum) *big.Rat {
	switch v := d.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	case number.Decimal:
		r, _ := new(big.Rat).SetString(v.String())
		return r
	}
	return nil
}

// rationalAs returns a rational as a value of type t.
func rationalAs(t *testing.T, ty types.Type, r *big.Rat) types.Datum {
	t.Helper()
	switch ty.OID {
	case types.Int8OID:
		return r.Num().Int64()
	case types.Float4OID, types.Float8OID:
		f, _ := r.Float64()
		return f
	}
	d, err := number.ParseDecimal(r.FloatString(40))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// moments are sums, means and variances of numbers.
func moments(t *testing.T, name string, ty types.Type, vals []types.Datum) types.Datum {
	t.Helper()
	n := new(big.Rat).SetInt64(int64(len(vals)))
	sum, sq := new(big.Rat), new(big.Rat)
	for _, d := range vals {
		x := rat(d)
		sum.Add(sum, x)
		sq.Add(sq, x.Mul(x, x))
	}
	mean := new(big.Rat).Quo(sum, n)
	switch name {
	case "sum":
		return rationalAs(t, ty, sum)
	case "avg":
		return rationalAs(t, ty, mean)
	}
	spread := new(big.Rat).Sub(sq, new(big.Rat).Mul(sum, mean))
	if !strings.HasSuffix(name, "_pop") {
		if len(vals) < 2 {
			return nil
		}
		n.Sub(n, big.NewRat(1, 1))
	}
	v := spread.Quo(spread, n)
	if strings.HasPrefix(name, "stddev") {
		f := new(big.Float).SetPrec(300).SetRat(v)
		v, _ = f.Sqrt(f).Rat(nil)
	}
	return rationalAs(t, ty, v)
}

// pairs computes the regressions of Y on X from exact sums.
func pairs(name string, rows []types.Row) types.Datum {
	var xs, ys []*big.Rat
	sx, sy := new(big.Rat), new(big.Rat)
	for _, r := range rows {
		if r[0] != nil && r[1] != nil {
			y, x := rat(r[0]), rat(r[1])
			xs, ys = append(xs, x), append(ys, y)
			sx.Add(sx, x)
			sy.Add(sy, y)
		}
	}
	if name == "regr_count" {
		return int64(len(xs))
	}
	if len(xs) == 0 {
		return nil
	}
	n := new(big.Rat).SetInt64(int64(len(xs)))
	mx, my := new(big.Rat).Quo(sx, n), new(big.Rat).Quo(sy, n)
	dot := func(a []*big.Rat, ma *big.Rat, b []*big.Rat, mb *big.Rat) float64 {
		sum := new(big.Rat)
		for i := range a {
			sum.Add(sum, new(big.Rat).Mul(new(big.Rat).Sub(a[i], ma), new(big.Rat).Sub(b[i], mb)))
		}
		f, _ := sum.Float64()
		return f
	}
	sxx, syy, sxy := dot(xs, mx, xs, mx), dot(ys, my, ys, my), dot(xs, mx, ys, my)
	fx, _ := mx.Float64()
	fy, _ := my.Float64()
	f, _ := n.Float64()
	unless := func(null bool, v float64) types.Datum {
		if null {
			return nil
		}
		return v
	}
	switch name {
	case "regr_avgx":
		return fx
	case "regr_avgy":
		return fy
	case "regr_sxx":
		return sxx
	case "regr_syy":
		return syy
	case "regr_sxy":
		return sxy
	case "covar_pop":
		return sxy / f
	case "covar_samp":
		return unless(f < 2, sxy/(f-1))
	case "corr":
		return unless(sxx == 0 || syy == 0, sxy/math.Sqrt(sxx*syy))
	case "regr_slope":
		return unless(sxx == 0, sxy/sxx)
	case "regr_intercept":
		return unless(sxx == 0, fy-fx*sxy/sxx)
	}
	if sxx != 0 && syy == 0 { // regr_r2
		return 1.0
	}
	return unless(sxx == 0, sxy*sxy/(sxx*syy))
}

// collected computes the aggregates that keep every row.
func (s spec) collected(t *testing.T, rows []types.Row) types.Datum {
	t.Helper()
	if s.name() == "string_agg" {
		rows = slices.DeleteFunc(rows, func(r types.Row) bool { return r[0] == nil })
	}
	if len(rows) == 0 {
		return nil
	}
	js := func(d types.Datum) string {
		switch v := d.(type) {
		case nil:
			return "null"
		case string:
			return strconv.Quote(v)
		}
		return fmt.Sprint(d)
	}
	switch s.name() {
	case "array_agg":
		a := types.Array{Elem: s.ts[0]}
		for _, r := range rows {
			a.Elems = append(a.Elems, r[0])
		}
		return a
	case "string_agg":
		var b bytes.Buffer
		for i, r := range rows {
			for k, d := range []types.Datum{r[1], r[0]} {
				if k == 0 && i == 0 {
					continue
				}
				switch v := d.(type) {
				case string:
					b.WriteString(v)
				case []byte:
					b.Write(v)
				}
			}
		}
		if s.call.Typ.OID == types.ByteaOID {
			return b.Bytes()
		}
		return b.String()
	case "json_agg", "jsonb_agg":
		var parts []string
		for _, r := range rows {
			parts = append(parts, js(r[0]))
		}
		return s.json(t, "["+strings.Join(parts, ", ")+"]")
	}
	var parts []string
	for _, r := range rows {
		parts = append(parts, strconv.Quote(fmt.Sprint(r[0]))+" : "+js(r[1]))
	}
	return s.json(t, "{ "+strings.Join(parts, ", ")+" }")
}

func (s spec) json(t *testing.T, text string) types.Datum {
	t.Helper()
	if s.call.Typ.OID != types.JSONBOID {
		return text
	}
	d, err := types.ParseText(types.JSONB, text, types.DefaultEnv)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// percentile returns the row at the fraction p, or interpolates between two.
func (s spec) percentile(rows []types.Row) types.Datum {
	var vals []types.Datum
	for _, r := range rows {
		if r[1] != nil {
			vals = append(vals, r[1])
		}
	}
	if len(vals) == 0 {
		return nil
	}
	one := func(f types.Datum) types.Datum {
		p, ok := f.(float64)
		if !ok {
			return nil
		}
		if s.name() == "percentile_disc" {
			for i, v := range vals {
				if float64(i+1)/float64(len(vals)) >= p {
					return v
				}
			}
		}
		at := p * float64(len(vals)-1)
		lo, hi := int(at), int(math.Ceil(at))
		if x, ok := vals[lo].(float64); ok {
			return x + (at-float64(lo))*(vals[hi].(float64)-x)
		}
		x, y := vals[lo].(datetime.Interval), vals[hi].(datetime.Interval)
		if lo == hi {
			return x
		}
		d, _ := datetime.IntervalMul(datetime.Interval{Months: y.Months - x.Months, Days: y.Days - x.Days, Micros: y.Micros - x.Micros}, at-float64(lo))
		return datetime.Interval{Months: x.Months + d.Months, Days: x.Days + d.Days, Micros: x.Micros + d.Micros}
	}
	list, ok := rows[0][0].(types.Array)
	if !ok {
		return one(rows[0][0])
	}
	elem, _ := s.call.Typ.Elem()
	out := types.Array{Elem: elem}
	for _, f := range list.Elems {
		out.Elems = append(out.Elems, one(f))
	}
	return out
}

// rank counts the rows before the hypothetical one; NULLs are last.
func (s spec) rank(rows []types.Row) types.Datum {
	before, with := 0.0, 0.0
	seen := map[types.Datum]bool{}
	for _, r := range rows {
		if r[1] == nil {
			continue
		}
		switch c := types.Compare(s.ts[0], r[1], r[0]); {
		case c < 0:
			before++
			seen[r[1]] = true
		case c == 0:
			with++
		}
	}
	n := float64(len(rows))
	switch s.name() {
	case "rank":
		return int64(before) + 1
	case "dense_rank":
		return int64(len(seen)) + 1
	case "percent_rank":
		if n == 0 {
			return 0.0
		}
		return before / n
	}
	return (before + with + 1) / (n + 1)
}

func isMetric(name string) bool {
	switch name {
	case "accuracy", "precision_score", "recall_score", "f1_score", "roc_auc", "log_loss",
		"mean_absolute_error", "root_mean_squared_error", "r2_score", "ml_classification", "ml_regression",
		"balanced_accuracy", "matthews_corrcoef", "average_precision", "brier_score", "mean_squared_error", "mean_absolute_percentage_error",
		"median_absolute_error", "max_error", "mean_pinball_loss", "top_k_accuracy", "ndcg":
		return true
	}
	return false
}

// someClasses are the classes in text form; labels may be other texts.
var someClasses = []string{"0", "no", "1", "yes"}

// metricValue returns one of two classes, or a score between 0 and 1 from so few that they tie.
func metricValue(r *rand.Rand, name string, k int, ty types.Type) types.Datum {
	switch {
	case k == 1 && ty.IsArray():
		a := types.Array{Elem: types.Float8}
		for range r.Intn(2) + len(someClasses) - 1 {
			a.Elems = append(a.Elems, float64(r.Intn(9))/8)
		}
		return a
	case k == 3, k == 2 && name == "ndcg":
		return int64(1 + r.Intn(4))
	case name == "ndcg":
		return float64(r.Intn(4))
	case k == 2 && name == "mean_pinball_loss":
		return float64(1+r.Intn(3)) / 4
	case k == 2 && name == "ml_classification": // the lesser one is positive
		return map[types.OID]types.Datum{types.BoolOID: false, types.TextOID: "no", types.Float8OID: 0.0, types.Int8OID: int64(0)}[ty.OID]
	case k == 2:
		a := types.Array{Elem: types.Text}
		for _, c := range someClasses {
			a.Elems = append(a.Elems, c)
		}
		return a
	case k == 1 && (name == "roc_auc" || name == "log_loss" || name == "average_precision" || name == "brier_score"), strings.HasSuffix(name, "error"), name == "mean_pinball_loss", name == "r2_score", name == "ml_regression":
		return float64(r.Intn(9)) / 8
	case ty.OID == types.BoolOID:
		return r.Intn(2) == 0
	case ty.OID == types.TextOID:
		return []string{"no", "yes"}[r.Intn(2)]
	case ty.OID == types.Float8OID:
		return float64(r.Intn(2))
	}
	return int64(r.Intn(2))
}

func isNull(d types.Datum) bool { return d == nil }

// concordanceReference compares all pairs.
func concordanceReference(rows []types.Row) types.Datum {
	var good, all float64
	for _, a := range rows {
		for _, b := range rows {
			if slices.ContainsFunc(a, isNull) || slices.ContainsFunc(b, isNull) || !a[1].(bool) {
				continue
			}
			ta, tb, ra, rb := a[0].(float64), b[0].(float64), a[2].(float64), b[2].(float64)
			if ta < tb || ta == tb && !b[1].(bool) {
				all++
				switch {
				case ra > rb:
					good++
				case ra == rb:
					good += 0.5
				}
			}
		}
	}
	if all == 0 {
		return nil
	}
	return good / all
}

// ndcgReference is the mean over orders of tied rows: of each place the mean gain of the rows that may be there.
func ndcgReference(rows []types.Row) types.Datum {
	var gains, scores []float64
	places := 0
	for _, r := range rows {
		if slices.ContainsFunc(r, isNull) {
			continue
		}
		gains, scores = append(gains, math.Exp2(r[0].(float64))-1), append(scores, r[1].(float64))
		if k := 10; len(r) < 3 {
			places = k
		} else {
			places = max(places, int(r[2].(int64)))
		}
	}
	if gains == nil {
		return nil
	}
	dcg := func(by []float64) (sum float64) {
		for place := range min(places, len(by)) {
			mean, n := 0.0, 0.0
			for i := range by {
				higher, equal := 0, 0
				for _, s := range by {
					if s > by[i] {
						higher++
					} else if s == by[i] {
						equal++
					}
				}
				if higher <= place && place < higher+equal {
					mean, n = mean+gains[i], n+1
				}
			}
			sum += mean / n / math.Log2(float64(place+2))
		}
		return sum
	}
	best := dcg(gains)
	if best == 0 {
		return 1.0
	}
	return dcg(scores) / best
}

func metricReference(t *testing.T, name string, ty types.Type, rows []types.Row) types.Datum {
	t.Helper()
	named := slices.ContainsFunc(rows, func(r types.Row) bool { return len(r) > 2 && r[2] != nil })
	rows = slices.DeleteFunc(rows, func(r types.Row) bool {
		return r[0] == nil || r[1] == nil || name == "mean_pinball_loss" && r[2] == nil
	})
	n := float64(len(rows))
	if n == 0 {
		return nil
	}
	truth := func(d types.Datum) bool { return d == true || d == int64(1) || d == 1.0 || d == "yes" }
	if (name == "log_loss" || name == "brier_score") && !slices.ContainsFunc(rows, func(r types.Row) bool { return r[0] != rows[0][0] }) {
		// If all rows have one class, it is the positive one unless it is 0 or false.
		truth = func(d types.Datum) bool { return d != false && d != int64(0) && d != 0.0 }
	}
	var hits, tp, fp, fn, pos, abs, sq, sum, left, loss, above, brier, precision, share, most, pinball float64
	var errors []float64
	for _, r := range rows {
		a := truth(r[0])
		if a {
			pos++
		}
		if name == "roc_auc" || name == "log_loss" || name == "average_precision" || name == "brier_score" {
			p := r[1].(float64)
			brier += p * p
			if a {
				brier += 1 - 2*p
				hit, all := 0.0, 0.0
				for _, o := range rows {
					if o[1].(float64) >= p {
						if all++; truth(o[0]) {
							hit++
						}
					}
				}
				precision += hit / all
			}
			if q := min(max(p, 0x1p-52), 1-0x1p-52); a {
				loss -= math.Log(q)
			} else {
				loss -= math.Log(1 - q)
			}
			for _, o := range rows {
				if x := o[1].(float64); a && !truth(o[0]) {
					switch {
					case p > x:
						above++
					case p == x:
						above += 0.5
					}
				}
			}
			continue
		}
		switch b := truth(r[1]); {
		case a && b:
			tp++
		case b:
			fp++
		case a:
			fn++
		}
		if types.Compare(ty, r[0], r[1]) == 0 {
			hits++
		}
		if y, ok := r[0].(float64); ok {
			d := y - r[1].(float64)
			errors, most = append(errors, math.Abs(d)), max(most, math.Abs(d))
			share += math.Abs(d) / max(math.Abs(y), 0x1p-52)
			if name == "mean_pinball_loss" {
				pinball += max(r[2].(float64)*d, (r[2].(float64)-1)*d)
			}
			abs += math.Abs(d)
			sq += d * d
			sum += y
			left += d
		}
	}
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	if name == "ml_classification" {
		return classReference(tp, fp, fn, n-tp-fp-fn, ty.OID == types.TextOID, named)
	}
	// If no row is of the positive class, all are of one class, whose metrics these are, unless it
	// is known to be the negative one.
	if tp+fp+fn == 0 && ty.OID == types.TextOID {
		tp = hits
	}
	switch name {
	case "balanced_accuracy":
		return balancedReference(tp, fp, fn, n-tp-fp-fn)
	case "matthews_corrcoef":
		return correlationReference(tp, fp, fn, n-tp-fp-fn)
	case "average_precision":
		if pos == 0 || pos == n {
			return nil
		}
		return precision / pos
	case "brier_score":
		return brier / n
	case "mean_squared_error":
		return sq / n
	case "mean_absolute_percentage_error":
		return share / n
	case "max_error":
		return most
	case "mean_pinball_loss":
		return pinball / n
	case "median_absolute_error":
		slices.Sort(errors)
		return (errors[(len(errors)-1)/2] + errors[len(errors)/2]) / 2
	case "accuracy":
		return hits / n
	case "precision_score":
		return ratio(tp, tp+fp)
	case "recall_score":
		return ratio(tp, tp+fn)
	case "f1_score":
		return ratio(2*tp, 2*tp+fp+fn)
	case "roc_auc":
		if pos == 0 || pos == n {
			return nil
		}
		return above / (pos * (n - pos))
	case "log_loss":
		return loss / n
	case "mean_absolute_error":
		return abs / n
	case "root_mean_squared_error":
		return math.Sqrt(sq / n)
	}
	var total float64
	for _, r := range rows {
		d := r[0].(float64) - sum/n
		total += d * d
	}
	if name == "ml_regression" {
		out := types.Array{Elem: types.Float8, Elems: []types.Datum{abs / n, sq / n, math.Sqrt(sq / n)}}
		for _, sq := range []float64{sq, sq - left*left/n} {
			switch {
			case total > 0:
				out.Elems = append(out.Elems, 1-sq/total)
			case sq == 0:
				out.Elems = append(out.Elems, 1.0)
			default:
				out.Elems = append(out.Elems, 0.0)
			}
		}
		return out
	}
	switch {
	case total > 0:
		return 1 - sq/total
	case sq == 0:
		return 1.0
	}
	return 0.0
}

// same compares exactly, except for floats and quotients, which may differ in the last digits.
func (s spec) same(got, want types.Datum) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	if a, ok := got.(types.Array); ok {
		b, ok := want.(types.Array)
		return ok && slices.EqualFunc(a.Elems, b.Elems, func(x, y types.Datum) bool {
			elem, _ := s.call.Typ.Elem()
			return spec{call: s.call, ts: []types.Type{elem}}.close(x, y, elem)
		})
	}
	return s.close(got, want, s.call.Typ)
}

func (s spec) close(got, want types.Datum, ty types.Type) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	a, b := rat(got), rat(want)
	exact := s.name() == "sum" || s.name() == "min" || s.name() == "max" || s.name() == "count"
	if a == nil || b == nil || exact {
		return types.Compare(ty, got, want) == 0 && !bytes.Equal(nil, types.AppendText(nil, ty, got, types.DefaultEnv)) || s.text(got) == s.text(want)
	}
	x, _ := a.Float64()
	y, _ := b.Float64()
	return math.Abs(x-y) <= 1e-9*max(1, math.Abs(y))
}

func classReference(tp, fp, fn, tn float64, text, named bool) types.Datum {
	type measures [3]float64 // precision, recall, F1
	of := func(hit, over, under float64) measures {
		var m measures
		if hit > 0 {
			m = measures{hit / (hit + over), hit / (hit + under), 2 * hit / (2*hit + over + under)}
		}
		return m
	}
	n := tp + fp + fn + tn
	pos, neg := of(tp, fp, fn), of(tn, fn, fp)
	main, macro := pos, measures{}
	var weighted measures
	for i := range macro {
		macro[i] = (pos[i] + neg[i]) / 2
		weighted[i] = (pos[i]*(tp+fn) + neg[i]*(tn+fp)) / n
	}
	switch {
	case tp+fp+fn == 0:
		if macro = neg; text {
			main = neg
		}
	case tn+fp+fn == 0:
		macro = pos
	}
	if named {
		main = neg
	}
	right := (tp + tn) / n
	out := types.Array{Elem: types.Float8, Elems: []types.Datum{right}}
	for _, m := range []measures{main, macro, {right, right, right}, weighted} {
		for _, v := range m {
			out.Elems = append(out.Elems, v)
		}
	}
	out.Elems = append(out.Elems, balancedReference(tp, fp, fn, tn), correlationReference(tp, fp, fn, tn))
	return out
}
