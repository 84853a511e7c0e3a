package forecast

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// What stands in gaps.
const (
	gapsLinear   = "linear"
	gapsPrevious = "previous"
	gapsZero     = "zero"
)

// microsPerDay is how many units of a timestamp a day has.
const microsPerDay = 86400e6

// series is a series of numbers at equal steps of time.
type series struct {
	Y     []float64
	Last  int64 // the time of the last value
	Every step
	x     [][]float64 // by regressor, as long as Y
}

// step is the distance of two times that follow each other.
type step struct {
	N      int64 // units of the time, or months
	Months bool  // the times are the first days of months, at midnight
	Ends   bool  // or the last days
}

// clock reads times of a column's type.
type clock struct{ record.Column }

// day returns the day of a time at midnight; ok is false for other times, and for numbers.
func (c clock) day(t int64) (day int64, ok bool) {
	switch {
	case c.Type.OID == types.DateOID:
		return t, true
	case c.Type.IsStamp() && t%microsPerDay == 0:
		return t / microsPerDay, true
	}
	return 0, false
}

// month numbers the month of a time that is the first day of one, or the last.
func (c clock) month(t int64, ends bool) (n int64, ok bool) {
	day, ok := c.day(t)
	if !ok {
		return 0, false
	}
	if ends {
		day++
	}
	y, m, d := datetime.DateToYMD(day)
	if n = int64(y)*12 + int64(m) - 1; ends {
		n--
	}
	return n, d == 1
}

// after returns the time k steps after another one.
func (c clock) after(t int64, e step, k int64) (int64, error) {
	k, ok := checked.Mul(k, e.N)
	n := int64(0)
	switch {
	case ok && e.Months:
		month, _ := c.month(t, e.Ends)
		if month, ok = checked.Add(month, k); ok && month < 12*maxYear {
			if e.Ends {
				month++
			}
			n = datetime.YMDToDate(0, int(month)+1, 1)
			if e.Ends {
				n--
			}
			if c.Type.OID != types.DateOID {
				n, ok = checked.Mul(n, int64(microsPerDay))
			}
		} else {
			ok = false
		}
	case ok:
		n, ok = checked.Add(t, k)
	}
	if ok && c.Type.IsStamp() {
		day := n
		if c.Type.OID != types.DateOID {
			day = n / microsPerDay
		}
		ok = day < datetime.YMDToDate(maxYear, 1, 1)
	}
	if !ok || c.Type.OID == types.Int4OID && n != int64(int32(n)) || c.Type.OID == types.Int2OID && n != int64(int16(n)) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "the forecast goes beyond the times that column %q can have", c.Name).WithHint("Ask for a shorter horizon.")
	}
	return n, nil
}

// steps counts the steps from one time to another; ok is false where they are not whole.
func (c clock) steps(from, to int64, e step) (k int64, ok bool) {
	d := to - from
	if e.Months {
		a, _ := c.month(from, e.Ends)
		b, first := c.month(to, e.Ends)
		if d = b - a; !first {
			return 0, false
		}
	}
	return d / e.N, d%e.N == 0
}

// maxYear is the last year of timestamps.
const maxYear = 294276

// text shows a time.
func (c clock) text(t int64) string {
	switch c.Type.OID {
	case types.DateOID:
		return string(datetime.AppendDate(nil, t, nil))
	case types.TimestampOID, types.TimestamptzOID:
		return string(datetime.AppendTimestamp(nil, t, nil))
	}
	return strconv.FormatInt(t, 10)
}

// seriesOf makes a series of sorted pairs; charge is called with its length before it is made.
func (c clock) seriesOf(p *pairs, gaps string, charge func(steps int64) error) (*series, error) {
	n := len(p.Times)
	bad := func(format string, args ...any) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...)
	}
	if n < 2 {
		return nil, bad("a series of %d rows is too short to be continued", n)
	}
	for i, t := range p.Times[1:] {
		if t == p.Times[i] {
			return nil, bad("two rows of a series have the same time: %s", c.text(t)).
				WithHint("Sum them up in the query, or name the columns that tell series apart: GROUP BY store, item.")
		}
	}
	every, numbers := c.step(p.Times)
	steps := func(i int) (k int64, whole bool) { // from row i to the next
		d := numbers(p.Times[i+1]) - numbers(p.Times[i])
		return d / every.N, d%every.N == 0
	}
	total := int64(1)
	for i := range n - 1 {
		k, whole := steps(i)
		if !whole {
			return nil, bad("the times of a series are not at equal steps: between %s and %s are no whole steps of %s", c.text(p.Times[i]), c.text(p.Times[i+1]), c.describe(every)).
				WithHint("Bring them to equal steps in the query, such as by date_trunc and an aggregate.")
		}
		if k > 1 && gaps == "" {
			return nil, bad("a series has a gap: there is no row between %s and %s, with steps of %s", c.text(p.Times[i]), c.text(p.Times[i+1]), c.describe(every)).
				WithHint("Fill it in the query, or give the option fill_gaps = 'linear', 'previous' or 'zero'.")
		}
		if total += k; total > mostSteps {
			return nil, errTooLong()
		}
	}
	if err := charge(total); err != nil {
		return nil, err
	}
	s := &series{Last: p.Times[n-1], Every: every}
	filled := func(at func(row int) float64) []float64 {
		out := make([]float64, 0, total)
		for i := range n {
			y := at(i)
			if i > 0 {
				k, _ := steps(i - 1)
				before := at(i - 1)
				for j := int64(1); j < k; j++ {
					v := 0.0
					switch gaps {
					case gapsLinear:
						v = before + float64((y-before)*(float64(j)/float64(k)))
					case gapsPrevious:
						v = before
					}
					out = append(out, v)
				}
			}
			out = append(out, y)
		}
		return out
	}
	s.Y = filled(func(i int) float64 { return p.Values[i] })
	w := p.width()
	for j := range w {
		s.x = append(s.x, filled(func(i int) float64 { return p.x[i*w+j] }))
	}
	return s, nil
}

// step finds the distance of times, the least that two of them have, and how to number them: by months where all are
// first days of months, or all are last ones.
func (c clock) step(times []int64) (e step, number func(int64) int64) {
	least := func() {
		e.N = math.MaxInt64
		for i := range times[1:] {
			e.N = min(e.N, number(times[i+1])-number(times[i]))
		}
	}
	for _, ends := range []bool{false, true} {
		months := c.Type.IsStamp()
		for _, t := range times {
			if months {
				_, months = c.month(t, ends)
			}
		}
		if months {
			e.Months, e.Ends = true, ends
			number = func(t int64) int64 { n, _ := c.month(t, ends); return n }
			least()
			return e, number
		}
	}
	number = func(t int64) int64 { return t }
	least()
	return e, number
}

// hour is an hour of timestamps.
const hour = 3600e6

// describe says in words how long a step is.
func (c clock) describe(e step) string {
	of := func(n int64, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return strconv.FormatInt(n, 10) + " " + unit
	}
	switch {
	case e.Months:
		return of(e.N, "month")
	case c.Type.OID == types.DateOID:
		return of(e.N, "day")
	case !c.Type.IsStamp():
		return strconv.FormatInt(e.N, 10)
	case e.N%microsPerDay == 0:
		return of(e.N/microsPerDay, "day")
	case e.N%hour == 0:
		return of(e.N/hour, "hour")
	}
	return strconv.FormatFloat(float64(e.N)/1e6, 'g', -1, 64) + " seconds"
}

// period is the season of a series for which the statement names none.
func (c clock) period(s *series) int {
	m := 1
	switch e := s.Every; {
	case e.Months && e.N == 1:
		m = 12
	case e.Months && e.N == 3:
		m = 4
	case e.Months:
	case c.Type.OID == types.DateOID && e.N == 1, c.Type.OID != types.DateOID && c.Type.IsStamp() && e.N == microsPerDay:
		m = 7
	case c.Type.OID != types.DateOID && c.Type.IsStamp() && e.N == hour:
		m = 24
	}
	if len(s.Y) < 2*m {
		return 1
	}
	return m
}
