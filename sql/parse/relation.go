package parse

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Relations of DuckDB for which PostgreSQL's grammar has no rule are rewritten as calls:
//
//	FROM 'd/flights.csv.gz'   →  FROM read_csv('d/flights.csv.gz') AS flights
//	FROM t WHERE …            →  SELECT * FROM t WHERE …
//	DESCRIBE t                →  SELECT * FROM describe((SELECT * FROM t))
//	SUMMARIZE SELECT …        →  SELECT * FROM summarize((SELECT …))
//	SHOW TABLES               →  SELECT name FROM pg_class …
//
// DESCRIBE, SUMMARIZE and SHOW TABLES may stand wherever a query may be: in parentheses in FROM, where
// they are called so if they get no alias, and after EXPLAIN, CREATE … AS and COPY.
type relation struct {
	call  string // that takes its place: a file's reader, or a word of the statement
	alias string // what it is called unless an alias follows
	end   int    // the token after a statement
}

// readers are the functions that read files, by the suffix of their names.
var readers = map[string]string{
	".csv": "read_csv", ".tsv": "read_csv", ".json": "read_json", ".jsonl": "read_json", ".ndjson": "read_json", ".parquet": "read_parquet",
}

// readerOf returns the function that reads a file, and the file's name without directory and
// suffixes; "" where the suffix names none.
func readerOf(file string) (call, name string) {
	name = path.Base(file)
	plain := name
	for _, packed := range []string{".gz", ".zst"} {
		if n := len(plain) - len(packed); n > 0 && strings.EqualFold(plain[n:], packed) {
			plain = plain[:n]
			break
		}
	}
	ext := path.Ext(plain)
	if call = readers[strings.ToLower(ext)]; call == "read_parquet" && plain != name {
		call = "" // it has its own compression
	}
	if name = strings.TrimSuffix(plain, ext); name == "" || strings.ContainsAny(name, "*?[") {
		name = cmp.Or(call, "file")
	}
	return call, name
}

// afterRelations are the words that end a FROM clause.
var afterRelations = []string{"where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "union", "intersect", "except", "returning"}

// mayNameRelations reports whether token i may belong to one of these relations.
func (s *source) mayNameRelations(i, lo int) bool {
	before := func(words ...string) bool {
		return i > lo && slices.ContainsFunc(words, func(w string) bool { return s.IsWord(i-1, w) })
	}
	bracket := i > lo && s.IsSelf(i-1, '(')
	switch s.Kind(i) {
	case lex.String:
		if bracket || i > lo && s.IsSelf(i-1, ',') { // as the values of an INSERT are
			raw := s.Raw(i)
			raw = strings.TrimRight(raw[max(0, len(raw)-16):], "'$")
			if strings.IndexByte(raw, '.') < 0 {
				return false
			}
			call, _ := readerOf(raw)
			return call != ""
		}
		return before("from", "join", "using")
	case lex.Ident:
		switch from := s.IsWord(i, "from"); {
		case from || s.statementAt(i) != "":
			return i == lo || bracket && !from || before(beforeQueries...)
		}
	}
	return false
}

// beforeQueries are words after which a query may begin.
var beforeQueries = []string{"as", "explain", "analyze", "verbose"}

// statementAt returns the first word of a statement that token i begins and that is written as a
// query; "" if it does not.
func (s *source) statementAt(i int) string {
	switch n := s.Toks[i].End - s.Toks[i].Start; {
	case n < 4 || n > 9:
	case s.IsWord(i, "describe"), s.IsWord(i, "desc"):
		return "describe"
	case s.IsWord(i, "summarize"):
		return "summarize"
	case s.IsWord(i, "show") && s.IsWord(i+1, "tables"):
		return "show"
	}
	return ""
}

// relations finds these relations in tokens [lo, hi). Its error is for a file whose suffix is not
// known.
func (s *source) relations(lo, hi int) (found map[int]relation, err error) {
	// A level is what is between brackets: after SELECT a FROM begins relations, after DELETE and
	// MERGE it is USING that does, and elsewhere FROM is part of an expression. expects is set where
	// a relation must come next.
	type level struct {
		word    string // select, delete, from; "" outside of a query
		expects bool
	}
	found = map[int]relation{}
	levels := []level{{}}
	begin := func(i, end int) {
		if w := s.statementAt(i); w != "" {
			found[i] = relation{call: w, end: end}
			levels[len(levels)-1] = level{"from", w != "show"}
		}
	}
	for i := lo; i < hi; i++ {
		at := &levels[len(levels)-1]
		expects := at.expects
		at.expects = false
		switch s.Kind(i) {
		case lex.Self:
			switch s.Text[s.Toks[i].Start] {
			case '(', '[':
				levels = append(levels, level{})
				if end := s.Closing(i, hi); s.IsSelf(i, '(') && end > 0 && (expects || i == lo+1 && s.IsWord(lo, "copy")) {
					levels[len(levels)-1] = level{"from", true}
					if word := s.statementAt(i + 1); word != "" {
						begin(i+1, end)
						if i++; expects {
							found[end] = relation{call: ")", alias: word}
						}
					}
				}
			case ')', ']':
				if len(levels) > 1 {
					levels = levels[:len(levels)-1]
				}
			case ',':
				at.expects = at.word == "from"
			}
		case lex.String:
			if expects {
				call, name := readerOf(s.Literal(i))
				if call == "" {
					call, err = "read_csv", pgerr.New(pgerr.SyntaxError, "the name of file \"%s\" does not tell its format", s.Literal(i)).At(s.Pos(i)).
						WithHint("Files in FROM are called .csv, .tsv, .json, .jsonl, .ndjson or .parquet, and text may also be .gz or .zst. For others write read_csv('…'), read_json('…') or read_parquet('…').")
				}
				found[i] = relation{call: call, alias: name}
			}
		case lex.Ident:
			switch word := lex.Fold(s.Raw(i)); {
			case i > lo && s.IsSelf(i-1, '.'):
			case at.word == "" && (i == lo || slices.ContainsFunc(beforeQueries, func(w string) bool { return s.IsWord(i-1, w) })) &&
				(word == "from" || s.statementAt(i) != ""):
				if begin(i, hi); word == "from" {
					found[i] = relation{call: word}
					*at = level{"from", true}
				}
			case word == "values" && expects: // what follows are rows
				at.word = ""
			case word == "select", word == "update":
				at.word = "select"
			case word == "delete", word == "merge":
				at.word = "delete"
			case word == "from" && at.word == "select" && !s.IsWord(i-1, "distinct"), word == "using" && at.word == "delete":
				*at = level{"from", true}
			case word == "join":
				at.expects = at.word == "from"
			case word == "lateral", word == "only":
				at.expects = expects
			case at.word == "from" && !expects && slices.Contains(afterRelations, word):
				at.word = ""
			}
		}
	}
	return found, err
}

// writeRelation writes the relation that token i begins, and returns the first token not written.
func (s *source) writeRelation(w *rewriter, i, hi int) int {
	r := w.relations[i]
	switch r.call {
	case "from":
		w.Put(i, "SELECT *")
		w.Copy(i, i+1)
		return i + 1
	case "show":
		where := "NOT IN ('pg_catalog', 'information_schema', 'ml', 'cluster') AND pg_catalog.pg_table_is_visible(c.oid)"
		if s.IsWord(i+2, "from") && i+4 == r.end && s.IsName(i+3) {
			where = "= " + lex.QuoteLiteral(s.Name(i+3))
		} else if i+2 != r.end {
			w.Copy(i, r.end)
			return r.end
		}
		w.Put(i, "SELECT c.relname::text AS name FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "+
			"WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname "+where+" ORDER BY 1")
		return r.end
	case "describe", "summarize":
		if i+1 >= r.end {
			w.Copy(i, r.end) // a syntax error
			return r.end
		}
		call := "SELECT * FROM " + r.call + "(("
		if q := i + 1; !s.IsWord(q, "select") && !s.IsWord(q, "with") && !s.IsWord(q, "values") && !s.IsWord(q, "table") && !s.IsSelf(q, '(') {
			call += "SELECT * FROM"
		}
		w.Put(i, call)
		s.rewriteTo(w, i+1, r.end)
		w.Put(r.end-1, "))")
		return r.end
	}
	next := i + 1
	if r.call == ")" {
		w.Copy(i, next)
	} else {
		w.Put(i, r.call+"("+lex.QuoteLiteral(s.Literal(i))+")")
	}
	if next < hi && (s.IsWord(next, "as") || s.Kind(next) == lex.Quoted ||
		s.Kind(next) == lex.Ident && !lex.IsReserved(lex.Fold(s.Raw(next))) && !s.IsWord(next, "tablesample")) {
		return next
	}
	w.Put(i, "AS "+lex.QuoteIdent(r.alias))
	return next
}
