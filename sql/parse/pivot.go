package parse

import "github.com/tributarydb/tributary/sql/lex"

// PIVOT and UNPIVOT, as Snowflake, BigQuery, Spark and DuckDB have them, follow a relation:
//
//	FROM sales AS s PIVOT (sum(x) FOR y IN (1, 2)) AS p   →  FROM pivot((SELECT * FROM sales AS s), 'sum(x) FOR y IN (1, 2)') AS p
//	FROM t UNPIVOT INCLUDE NULLS (v FOR k IN (a, b))      →  FROM unpivot((SELECT * FROM t), 'v FOR k IN (a, b)', 'include')
type pivot struct {
	word, open, end int // the tokens PIVOT, ( and )
}

// pivotAt finds the relation before the word PIVOT or UNPIVOT at token i; start is -1 where there is none.
func pivotAt(s *source, lo, i, hi int) (start int, p pivot) {
	p = pivot{word: i, open: i + 1}
	if s.MySQL || !s.IsWord(i, "pivot") && !s.IsWord(i, "unpivot") {
		return -1, p
	}
	if (s.IsWord(i+1, "include") || s.IsWord(i+1, "exclude")) && s.IsWord(i+2, "nulls") && s.IsWord(i, "unpivot") {
		p.open += 2
	}
	if !s.IsSelf(p.open, '(') {
		return -1, p
	}
	if p.end = s.Closing(p.open, hi); p.end < 0 {
		return -1, p
	}
	begins := func(k int) bool { // of a relation
		return k > lo && (s.IsWord(k-1, "from") || s.IsWord(k-1, "join") || s.IsSelf(k-1, ','))
	}
	relation := func(end int) int { // that ends before token end
		k := end - 1
		if k > lo && s.IsSelf(k, ')') {
			for depth := 0; k >= lo; k-- {
				if s.IsSelf(k, ')') {
					depth++
				} else if s.IsSelf(k, '(') {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if begins(k) {
				return k
			}
			k--
		}
		if k <= lo || !s.IsName(k) && s.Kind(k) != lex.String {
			return -1
		}
		for k-2 > lo && s.IsSelf(k-1, '.') && s.IsName(k-2) {
			k -= 2
		}
		if begins(k) {
			return k
		}
		return -1
	}
	if start = relation(i); start < 0 && i-2 > lo && s.IsName(i-1) { // an alias
		at := i - 1
		if s.IsWord(at-1, "as") {
			at--
		}
		start = relation(at)
	}
	return start, p
}

// tryCastAt returns the closing parenthesis of "try_cast ( … AS …" at token i; 0 where there is no such.
func tryCastAt(s *source, i, hi int) int {
	if !s.IsWord(i, "try_cast") || !s.IsSelf(i+1, '(') || s.IsSelf(i-1, '.') {
		return 0
	}
	end := s.Closing(i+1, hi)
	for k, depth := i+2, 0; k < end; k++ {
		switch {
		case s.IsSelf(k, '('), s.IsSelf(k, '['):
			depth++
		case s.IsSelf(k, ')'), s.IsSelf(k, ']'):
			depth--
		case depth == 0 && s.IsWord(k, "as"):
			return end
		}
	}
	return 0
}
