package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/types"
)

// Insight is something about the statements of one fingerprint and role that could be better.
type Insight struct {
	Kind         string // "spill", "conflict", "scan", "estimate"
	User         types.OID
	UserName     string
	Fingerprint  int64
	Times        int // of the statements that are remembered
	Last         time.Time
	ID, Text     string // of the last one
	Detail, Hint string

	worst float64 // what Detail tells, the larger the worse
}

// Statements are judged by these.
const (
	// farEstimate is by how many times an estimate of rows must be wrong, among farRows at least.
	farEstimate = 100
	farRows     = 1000
	// fewFound are the most rows that a scan finds which an index would have found.
	fewFound = 10
)

// Insights judges statements that have ended: of each fingerprint and role an insight a kind, the
// latest first. Operators are known of slow statements alone, and so are what scans and estimates cost.
func Insights(list []*Statement) []Insight {
	by := map[string]*Insight{}
	for _, s := range list {
		note := func(kind string, worst float64, hint, detail string, args ...any) {
			key := fmt.Sprint(kind, s.User, " ", s.Fingerprint)
			in := by[key]
			if in == nil {
				in = &Insight{Kind: kind, User: s.User, UserName: s.UserName, Fingerprint: s.Fingerprint, Hint: hint, worst: math.Inf(-1)}
				by[key] = in
			}
			in.Times++
			if worst > in.worst {
				in.worst, in.Detail = worst, fmt.Sprintf(detail, args...)
			}
			if !s.Start.Before(in.Last) {
				in.Last, in.ID, in.Text = s.Start, s.ID, s.Text
			}
		}
		if s.Spilled > 0 {
			note("spill", float64(s.Spilled), "Raise work_mem, or give the nodes more memory.", "It wrote %d MiB of temporary files.", max(s.Spilled>>20, 1))
		}
		if s.Code == "40001" {
			note("conflict", 0, "Run the transaction again, or lock its rows first with SELECT … FOR UPDATE.", "It failed since another transaction had changed the same rows.")
		}
		if o, d := slowScan(s); o != nil {
			note("scan", o.Took.Seconds(), "An index on the columns of the filter finds these rows; or cluster the table by them.", "%s found %d rows (%s).", o.Name, o.Rows, d)
		}
		if o, by := farthest(s); o != nil {
			note("estimate", by, "ANALYZE the tables, so that plans are made for the rows that are there.", "%s gave %d rows, and %.0f were expected.", o.Name, o.Rows, o.Estimated)
		}
	}
	out := make([]Insight, 0, len(by))
	for _, in := range by {
		out = append(out, *in)
	}
	slices.SortFunc(out, func(a, b Insight) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.User, b.User), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out
}

// slowScan returns a scan that read its table for few rows, which took at least half of the statement's
// time, and its filter.
func slowScan(s *Statement) (*Operator, string) {
	for i := range s.Operators {
		o := &s.Operators[i]
		if !strings.HasPrefix(o.Name, "Seq Scan") || o.Rows > fewFound || 2*o.Took < s.Took {
			continue
		}
		for _, d := range o.Detail {
			if strings.HasPrefix(d, "Filter:") {
				return o, d
			}
		}
	}
	return nil, ""
}

// farthest returns the operator whose estimate is the most wrong, and by how many times, if any is so
// by far. A LIMIT above ends operators before their rows do, so that fewer rows say nothing then.
func farthest(s *Statement) (worst *Operator, by float64) {
	limited := slices.ContainsFunc(s.Operators, func(o Operator) bool { return strings.HasPrefix(o.Name, "Limit") })
	rows := map[int]int64{} // of an operator, over nodes
	for _, o := range s.Operators {
		rows[o.Number] += o.Rows
	}
	for i := range s.Operators {
		o := s.Operators[i]
		o.Rows = rows[o.Number]
		got, expected := math.Max(float64(o.Rows), 1), math.Max(o.Estimated, 1)
		if math.Max(got, expected) < farRows || expected > got && limited {
			continue
		}
		if f := math.Max(got/expected, expected/got); f >= farEstimate && f > by {
			worst, by = &o, f
		}
	}
	return worst, by
}
