package sqlfuzz

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// trial is a question whose right answer is known: a kind, the texts it is made
// of, and the statements that come first.
//
//	peer, write  statement
//	settings     statement, and the setting that must not matter
//	tlp          SELECT … FROM …, predicate
//	norec        FROM clause, predicate
type trial struct {
	kind    string
	parts   []string
	setup   []string
	ordered bool
	risky   bool
	state   bool // changes what later ones see
}

// finding is what came of a trial.
type finding struct {
	verdict
	apart     bool   // the two sides went different ways, allowed or not
	code      string // the server's error, if that was its answer
	signature string // the same for failures that probably are one
	answers   []string
}

// knobs are settings that change how a query is run and nothing else.
var knobs = []string{
	"tributary.distribute_rows = 0", "batch_size = 1", "batch_size = 3", "batch_size = 64", "worker_saturation = 'inf'",
}

// trial makes a random one that changes nothing.
func (g *generator) trial(peer bool) trial {
	if k := g.r.IntN(100); peer && k < 85 {
		q := g.top()
		return trial{kind: "peer", parts: []string{q.sql}, ordered: q.ordered, risky: g.risky}
	}
	switch g.r.IntN(3) {
	case 0:
		q := g.top()
		return trial{kind: "settings", parts: []string{q.sql, g.pick(knobs)}, ordered: q.ordered, risky: g.risky}
	case 1:
		from, s := g.from(nil, 2, 1+g.r.IntN(3))
		items := make([]string, 1+g.r.IntN(3))
		for i := range items {
			items[i] = g.expr(g.typ(), s, 2)
		}
		return trial{kind: "tlp", parts: []string{"SELECT " + strings.Join(items, ", ") + " FROM " + from, g.predicate(s, 4)}, risky: g.risky}
	default:
		from, s := g.from(nil, 2, 1+g.r.IntN(3))
		return trial{kind: "norec", parts: []string{from, g.predicate(s, 4)}, risky: g.risky}
	}
}

// statements are what a trial sends.
func (t trial) statements() []string {
	p := t.parts
	switch t.kind {
	case "settings":
		name, _, _ := strings.Cut(p[1], " ")
		return []string{p[0], "SET " + p[1], p[0], "RESET " + name}
	case "tlp":
		return []string{p[0], p[0] + " WHERE " + p[1], p[0] + " WHERE NOT (" + p[1] + ")", p[0] + " WHERE (" + p[1] + ") IS NULL"}
	case "norec":
		return []string{"SELECT count(*) FROM " + p[0] + " WHERE " + p[1], "SELECT coalesce(sum(CASE WHEN " + p[1] + " THEN 1 ELSE 0 END), 0) FROM " + p[0]}
	}
	return p
}

// judge runs a trial and says what is wrong.
func (f *fuzzer) judge(ctx context.Context, t trial) (finding, error) {
	var found finding
	var answers []*answer
	for _, sql := range t.statements() {
		a, err := f.us.run(ctx, sql)
		if err != nil {
			return found, err
		}
		answers = append(answers, a)
		found.answers = append(found.answers, a.brief())
		if found.code == "" {
			found.code = a.code
		}
		if why := broken(a); why != "" {
			found.failure, found.signature = why, signature(why)
			return found, nil
		}
	}
	first := answers[0]
	switch t.kind {
	case "peer", "write":
		if f.peer == nil {
			break
		}
		other, err := f.peer.run(ctx, t.parts[0])
		if err != nil {
			return found, err
		}
		if other.lost {
			return found, fmt.Errorf("the peer is lost: %s\n%s", other.text, t.parts[0])
		}
		found.answers = append(found.answers, "peer: "+other.brief())
		found.verdict = compare(first, other, t.ordered, t.risky, f.o.Allow)
		found.apart = first.failed() != other.failed()
		// PostgreSQL checks unique columns row by row, and so may refuse an UPDATE
		// whose outcome has no duplicates.
		if t.state && !first.failed() && other.code == "23505" && strings.HasPrefix(t.parts[0], "UPDATE") {
			found.verdict = verdict{allowed: "unique row by row"}
		}
		if found.failure != "" && (first.failed() || other.failed()) {
			found.signature = signature(first.code + other.code + " " + first.text + other.text)
		}
	case "settings":
		found.verdict = compare(answers[2], first, t.ordered, t.risky, f.o.Allow)
	case "tlp":
		union := &answer{tag: first.tag, names: first.names, types: first.types}
		for _, a := range answers[1:] {
			if a.failed() || first.failed() {
				found.allowed = "an error in a part"
				return found, nil
			}
			union.rows = append(union.rows, a.rows...)
		}
		found.failure = sameRows(union, first, false)
	case "norec":
		if first.failed() || answers[1].failed() {
			found.allowed = "an error in a part"
			break
		}
		a, errA := strconv.Atoi(first.rows[0][0].text)
		b, errB := strconv.Atoi(answers[1].rows[0][0].text)
		if errA != nil || errB != nil || a != b {
			found.failure = "another count"
		}
	}
	return found, nil
}

// signature is a text without what differs from one statement to the next.
func signature(text string) string {
	var b strings.Builder
	quoted := false
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted, c >= '0' && c <= '9' && b.Len() > 12:
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
