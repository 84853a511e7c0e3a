package textfn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addSimilar registers what PostgreSQL's modules fuzzystrmatch and pg_trgm say about how alike texts are.
func addSimilar(t function.Table) {
	t.Put("levenshtein(text,text)", function.Always(function.Try2(distance)))
	t.Put("levenshtein(text,text,int4,int4,int4)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		cost := func(i int) int { return int(a[i].(int64)) }
		x, y, err := runesOf(c, a[0].(string), a[1].(string))
		return int64(edits(x, y, cost(2), cost(3), cost(4))), err
	})))
	t.Put("levenshtein_less_equal(text,text,int4)", function.Always(function.Try3(func(c *function.Call, s, u string, most int64) (int64, error) {
		d, err := distance(c, s, u)
		if most >= 0 {
			d = min(d, most+1) // how far beyond is not said
		}
		return d, err
	})))
	t.Put("similarity(text,text)", function.Always(function.Try2(func(c *function.Call, s, u string) (float64, error) {
		c.Meter().Scratch(48 * (len(s) + len(u) + 2))
		return similarity(trigrams(s), trigrams(u)), nil
	})))
}

// distance is how many insertions, deletions and substitutions make one text of the other. A column of the table of
// distances is kept as its differences, a bit a character of the shorter text (Myers 1999, as Hyyrö has it).
func distance(c *function.Call, s, u string) (int64, error) {
	if len(s) > len(u) {
		s, u = u, s
	}
	if len(s) > 64 || !plain(s) || !plain(u) {
		x, y, err := runesOf(c, s, u)
		return int64(edits(x, y, 1, 1, 1)), err
	}
	if s == "" {
		return int64(len(u)), nil
	}
	var at [128]uint64 // where in s a character is
	for i := range len(s) {
		at[s[i]] |= 1 << i
	}
	up, down, last := ^uint64(0), uint64(0), uint64(1)<<(len(s)-1)
	d := int64(len(s))
	for i := range len(u) {
		same := at[u[i]]
		zero := (same&up + up) ^ up | same | down
		right, left := down|^(zero|up), up&zero
		if right&last != 0 {
			d++
		}
		if left&last != 0 {
			d--
		}
		right = right<<1 | 1
		up, down = left<<1|^(zero|right), right&zero
	}
	return d, nil
}

// plain reports whether every byte is a character.
func plain(s string) bool {
	var all byte
	for i := range len(s) {
		all |= s[i]
	}
	return all < utf8.RuneSelf
}

// longestEdited bounds the table of distances, as fuzzystrmatch does.
const longestEdited = 1 << 14

func runesOf(c *function.Call, s, u string) (x, y []rune, err error) {
	if len(s) > longestEdited || len(u) > longestEdited {
		return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "levenshtein argument exceeds maximum length of %d bytes", longestEdited)
	}
	c.Meter().Scratch(12 * (len(s) + len(u)))
	c.Meter().Poll(len(s) * len(u) / 16)
	return []rune(s), []rune(u), nil
}

// edits is the least cost of what makes y of x.
func edits(x, y []rune, insert, remove, replace int) int {
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j * insert
	}
	for i, r := range x {
		left := row[0]
		row[0] = (i + 1) * remove
		for j, q := range y {
			d := left
			if r != q {
				d += replace
			}
			left = row[j+1]
			row[j+1] = min(d, left+remove, row[j]+insert)
		}
	}
	return row[len(y)]
}

// trigrams are the distinct runs of three characters of a text's words in small letters, of which each has two blanks
// before it and one behind.
func trigrams(s string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		word = "  " + word + " "
		var from [3]int // of the last three characters
		n := 0
		for i := range word {
			if n >= 3 {
				out = append(out, word[from[n%3]:i])
			}
			from[n%3] = i
			n++
		}
		out = append(out, word[from[n%3]:])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// similarity is the share of the trigrams of both that are of either.
func similarity(a, b []string) float64 {
	both, i := 0, 0
	for _, g := range b {
		for i < len(a) && a[i] < g {
			i++
		}
		if i < len(a) && a[i] == g {
			both++
		}
	}
	if all := len(a) + len(b) - both; all > 0 {
		return float64(float32(both) / float32(all))
	}
	return 0
}
