package main

import (
	"slices"
	"strconv"
	"strings"
)

// trial is a test whose expected outcome is known: a kind, its texts, and the
// statements that come first.
//
//	peer, write  statements, each compared
//	settings     statements, each compared with itself under a setting that must not matter
//	tlp          SELECT … FROM …, predicate
//	norec        FROM clause, predicate
//	training     a training without its head, a query of rows to predict
type trial struct {
	kind    string
	parts   []string
	knob    string // the setting
	setup   []string
	ordered bool
	risky   bool
	state   bool // changes what later ones see
	// after undoes what a failed part leaves: a transaction, a role.
	after []string
	// An extended trial's single part is sent by the extended protocol.
	extended, binary bool
	params           []param
}

// finding is the outcome of a trial.
type finding struct {
	verdict
	apart     bool   // the two sides differ, allowed or not
	refused   bool   // by both
	code      string // the server's first error
	signature string // the same for failures that probably are one
	answers   []string
}

// knobs are settings that change how a query is run and nothing else.
var knobs = []string{
	"tributary.distribute_rows = 0", "batch_size = 1", "batch_size = 3", "batch_size = 64", "worker_saturation = 'inf'",
}

// trial returns a random trial that changes nothing.
func (g *generator) trial(peer bool) trial {
	if peer && g.chance(85) || g.chance(33) {
		t := g.question()
		t.kind, t.risky = "peer", g.risky
		if !peer || g.chance(5) {
			t.kind, t.knob = "settings", g.pick(knobs)
		}
		return t
	}
	from, s := g.from(nil, 2, 1+g.r.IntN(3))
	if g.chance(50) {
		return trial{kind: "norec", parts: []string{from, g.predicate(s, 3)}, risky: g.risky}
	}
	items := make([]string, 1+g.r.IntN(3))
	for i := range items {
		items[i] = g.expr(g.typ(), s, 2)
	}
	return trial{kind: "tlp", parts: []string{"SELECT " + strings.Join(items, ", ") + " FROM " + from, g.predicate(s, 3)}, risky: g.risky}
}

// requests returns the requests of a trial.
func (t trial) requests() []request {
	p := t.parts
	switch t.kind {
	case "settings":
		name, _, _ := strings.Cut(t.knob, " ")
		p = slices.Concat(p, t.after, []string{"SET " + t.knob}, p, t.after, []string{"RESET " + name})
	case "tlp":
		p = []string{p[0], p[0] + " WHERE " + p[1], p[0] + " WHERE NOT (" + p[1] + ")", p[0] + " WHERE (" + p[1] + ") IS NULL"}
	case "norec":
		p = []string{"SELECT count(*) FROM " + p[0] + " WHERE " + p[1], "SELECT coalesce(sum(CASE WHEN " + p[1] + " THEN 1 ELSE 0 END), 0) FROM " + p[0]}
	case "training":
		p = trainings(p)
	default:
		p = slices.Concat(p, t.after)
	}
	list := make([]request, len(p))
	for i, sql := range p {
		list[i] = request{sql: sql}
		if t.extended && slices.Contains(t.parts, sql) {
			list[i] = request{sql, true, t.params, t.binary}
		}
	}
	return list
}

// judge compares the answers to a trial's requests; other are the peer's, if there is
// one. Answers end where a server was lost for good.
func (t trial) judge(answers, other []*answer, allow []string) finding {
	var found finding
	for _, a := range answers {
		found.answers = append(found.answers, a.brief())
		if found.code == "" {
			found.code = a.code
		}
		if why := broken(a); why != "" {
			found.failure, found.signature = why, signature(why)
			return found
		}
	}
	if len(answers) < len(t.requests()) {
		found.apart = true // nothing more is known
		return found
	}
	first := answers[0]
	switch t.kind {
	case "peer", "write":
		if other == nil {
			break
		}
		for _, a := range other {
			found.answers = append(found.answers, "peer: "+a.brief())
		}
		found.steps(t, answers[:len(t.parts)], other, allow)
	case "settings":
		n := len(t.parts)
		found.steps(t, answers[n+len(t.after)+1:][:n], answers[:n], allow)
	case "training":
		found.verdict = judgeTraining(answers)
	case "tlp":
		union := &answer{tag: first.tag, block: first.block, names: first.names, types: first.types}
		for _, a := range answers[1:] {
			if a.failed() || first.failed() {
				found.allowed = "an error in a part"
				return found
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
	return found
}

// steps compares answers one by one until two differ, allowed or not: those after it
// are not comparable.
func (f *finding) steps(t trial, ours, other []*answer, allow []string) {
	for i, a := range ours {
		b := other[i]
		f.verdict = compare(a, b, t.ordered, t.risky, allow)
		f.refused = f.refused || a.failed() && b.failed()
		f.apart = a.failed() != b.failed() || a.tag != b.tag
		// PostgreSQL checks unique columns row by row, and so may refuse an UPDATE
		// whose outcome has no duplicates.
		if f.failure != "" && !a.failed() && b.code == "23505" && strings.HasPrefix(t.parts[i], "UPDATE") {
			f.verdict = verdict{allowed: "unique row by row"}
		}
		// PostgreSQL finds a wrong escape before it looks at the next constant, and its place sometimes
		// in the middle of a character.
		if codes := a.code + b.code; f.failure != "" && (codes == "4260122021" || codes == "2202142601") && strings.Contains(t.parts[i], "U&'") {
			f.verdict = verdict{allowed: "the first of two errors"}
		}
		if f.failure != "" && (a.failed() || b.failed()) {
			f.signature = signature(a.code + b.code + " " + a.text + b.text)
		} else if f.failure != "" && a.tag != b.tag {
			f.signature = strings.Join(strings.Fields(t.parts[i])[:2], " ") + " " + kind(a.tag) + " " + kind(b.tag)
		}
		if f.failure != "" || f.allowed != "" {
			return
		}
	}
}

// signature returns a text without names and numbers, which differ from one statement
// to the next.
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
