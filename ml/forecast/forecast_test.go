package forecast

import (
	"math"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

func uncharged(int64) error { return nil }

// rows returns a series at times 10, 12, 14, ….
func rows(y ...float64) *familytest.Data {
	d := &familytest.Data{Y: y}
	for i := range y {
		d.X = append(d.X, []float64{float64(10 + 2*i)})
	}
	return d
}

// TestSeasonalNaive: the forecast is the season before, and its variance that of seasonal differences, once more a
// season; the bytes are the same however the rows lie.
func TestSeasonalNaive(t *testing.T) {
	d := rows(1, 2, 3, 2, 4, 3)
	var want string
	for _, s := range []familytest.Spread{{}, {Nodes: 3, Threads: 2, LeafRows: 2, Shuffle: 5, Bytes: true, Resume: true}} {
		got, err := familytest.Train(t, seasonalNaive, d, s, "order_by", "x0", "seasonal_periods", 3)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(got.Bytes)
		}
		if string(got.Bytes) != want {
			t.Errorf("%+v: another model", s)
		}
	}
	got, err := familytest.Train(t, seasonalNaive, d, familytest.Spread{}, "order_by", "x0", "seasonal_periods", 3)
	if err != nil {
		t.Fatal(err)
	}
	f := got.Predictor.(*forecaster)
	f.time.Type = types.Int8
	var out [][]types.Datum
	if err := f.Forecast(4, 0.95, func(r []types.Datum) error { out = append(out, r); return nil }); err != nil {
		t.Fatal(err)
	}
	sd := math.Sqrt(5.0 / 3) // of the differences 1, 2 and 0
	for h, want := range []struct{ time, mean, sd float64 }{{22, 2, sd}, {24, 4, sd}, {26, 3, sd}, {28, 2, sd * math.Sqrt2}} {
		r := out[h]
		if float64(r[0].(int64)) != want.time || r[1].(float64) != want.mean || math.Abs(r[2].(float64)-want.sd) > 1e-12 || math.Abs(r[5].(float64)-(want.mean+1.959963984540054*want.sd)) > 1e-9 {
			t.Errorf("step %d: %v, not %v", h+1, r, want)
		}
	}
}

// TestSteps: what the steps of times are, and what comes next.
func TestSteps(t *testing.T) {
	day := func(s string) int64 {
		var y, m, d int
		for i, p := range strings.Split(s, "-") {
			n := 0
			for _, c := range p {
				n = 10*n + int(c-'0')
			}
			*[]*int{&y, &m, &d}[i] = n
		}
		return datetime.YMDToDate(y, m, d)
	}
	for _, c := range []struct {
		typ    types.Type
		times  string
		step   string
		period int // of a long series
		next   string
		error  string
	}{
		{types.Date, "2024-02-27 2024-02-28 2024-02-29", "1 day", 7, "2024-03-01", ""},
		{types.Date, "2024-01-01 2024-02-01 2024-03-01", "1 month", 12, "2024-04-01", ""},
		{types.Date, "2023-12-31 2024-01-31 2024-02-29", "1 month", 12, "2024-03-31", ""},
		{types.Date, "2023-10-01 2024-01-01 2024-04-01", "3 months", 4, "2024-07-01", ""},
		{types.Timestamp, "2024-02-27 2024-02-28 2024-02-29", "1 day", 7, "2024-03-01", ""},
		{types.Timestamp, "2023-10-31 2023-11-30 2023-12-31", "1 month", 12, "2024-01-31", ""},
		{types.Date, "2024-02-20 2024-02-27 2024-03-05", "7 days", 1, "2024-03-12", ""},
		{types.Date, "2024-02-20 2024-02-21 2024-02-23", "", 0, "", "a series has a gap: there is no row between 2024-02-21 and 2024-02-23, with steps of 1 day"},
		{types.Date, "2024-02-20 2024-02-22 2024-02-25", "", 0, "", "the times of a series are not at equal steps: between 2024-02-22 and 2024-02-25 are no whole steps of 2 days"},
		{types.Date, "2024-02-20 2024-02-20 2024-02-25", "", 0, "", "two rows of a series have the same time: 2024-02-20"},
		{types.Date, "2024-01-01 2024-02-01 2024-04-01", "", 0, "", "a series has a gap: there is no row between 2024-02-01 and 2024-04-01, with steps of 1 month"},
	} {
		unit := int64(1)
		if c.typ.OID != types.DateOID {
			unit = microsPerDay
		}
		k, p := clock{record.Column{Name: "at", Type: c.typ}}, &pairs{}
		for i, s := range strings.Fields(c.times) {
			p.Times, p.Values = append(p.Times, day(s)*unit), append(p.Values, float64(i))
		}
		s, err := k.seriesOf(p, "", uncharged)
		if err != nil || c.error != "" {
			if err == nil || err.Error() != c.error && !strings.Contains(err.Error(), c.error) {
				t.Errorf("%s: %v", c.times, err)
			}
			continue
		}
		next, err := k.after(s.Last, s.Every, 1)
		if err != nil || next != day(c.next)*unit || k.describe(s.Every) != c.step {
			t.Errorf("%s: steps of %s, then %s, %v", c.times, k.describe(s.Every), k.text(next), err)
		}
		if s.Y = make([]float64, 100); k.period(s) != c.period {
			t.Errorf("%s: seasons of %d steps", c.times, k.period(s))
		}
	}
}

// TestGaps: steps without a row are filled as the option says.
func TestGaps(t *testing.T) {
	p := &pairs{Times: []int64{1, 2, 5}, Values: []float64{1, 2, 8}}
	for gaps, want := range map[string][2]float64{gapsLinear: {4, 6}, gapsPrevious: {2, 2}, gapsZero: {0, 0}} {
		s, err := clock{record.Column{Type: types.Int8}}.seriesOf(p, gaps, uncharged)
		if err != nil || len(s.Y) != 5 || s.Y[2] != want[0] || s.Y[3] != want[1] || s.Y[4] != 8 {
			t.Errorf("%s: %v, %v", gaps, s, err)
		}
	}
}
