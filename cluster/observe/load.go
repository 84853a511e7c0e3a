package observe

import (
	"strings"
	"time"
)

// Kind is what a statement does, for the metrics.
type Kind uint8

// The kinds.
const (
	Other Kind = iota // definitions, settings, EXPLAIN and the like
	Select
	Insert
	Update
	Delete
	Merge
	Copy
	Transaction // BEGIN, COMMIT and the like
	Train
	kinds
)

var kindNames = [kinds]string{"other", "select", "insert", "update", "delete", "merge", "copy", "transaction", "train"}

// KindOf returns the kind of statements with a command tag, such as COPY or TRAIN MODEL.
func KindOf(tag string) Kind {
	word, _, _ := strings.Cut(tag, " ")
	switch word {
	case "SELECT", "FETCH":
		return Select
	case "INSERT":
		return Insert
	case "UPDATE":
		return Update
	case "DELETE":
		return Delete
	case "MERGE":
		return Merge
	case "COPY":
		return Copy
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE":
		return Transaction
	case "TRAIN", "RETRAIN", "RESUME", "VERIFY":
		return Train
	}
	return Other
}

// Load is what statements did between two samples.
type Load struct {
	Statements, Errors int64
	rows               int64
	kinds              [kinds]*kindLoad // nil: none
	classes            map[string]int64 // errors by the class of their SQLSTATE
}

// kindLoad is what the statements of one kind did.
type kindLoad struct {
	took    time.Duration
	latency histogram
}

// count counts a statement that has ended.
func (l *Load) count(st *Statement) {
	l.Statements++
	l.rows += st.Rows
	if st.Code != "" {
		l.Errors++
		l.failed(st.Code[:min(2, len(st.Code))], 1)
	}
	k := l.kind(st.Kind)
	k.took += st.Took
	k.latency.add(st.Took)
}

func (l *Load) failed(class string, n int64) {
	if l.classes == nil {
		l.classes = map[string]int64{}
	}
	l.classes[class] += n
}

func (l *Load) kind(k Kind) *kindLoad {
	if l.kinds[k] == nil {
		l.kinds[k] = &kindLoad{}
	}
	return l.kinds[k]
}

func (l *Load) add(m *Load) {
	l.Statements += m.Statements
	l.Errors += m.Errors
	l.rows += m.rows
	for class, n := range m.classes {
		l.failed(class, n)
	}
	for k, o := range m.kinds {
		if o != nil {
			to := l.kind(Kind(k))
			to.took += o.took
			to.latency.merge(&o.latency)
		}
	}
}

// latency is that of all kinds together.
func (l *Load) latency() *histogram {
	all := &histogram{}
	for _, k := range l.kinds {
		if k != nil {
			all.merge(&k.latency)
		}
	}
	return all
}
