package search

import "bytes"

// Needle is a text to look for.
type Needle struct {
	text   string
	at     int // the place of first in text; second is gap bytes after it
	gap    int
	first  byte
	second byte
}

// common are bytes from the most to the less frequent in texts; any other is rarer.
const common = " etaoinsrhldcumfpgwybv,.k0123456789TSAMCINERLOPDBHFGW-_/:xjqz"

func rarity(c byte) int {
	if i := bytes.IndexByte([]byte(common), c); i >= 0 {
		return i
	}
	return len(common)
}

// New makes a needle of a text of two bytes or more.
func New(text string) *Needle {
	if len(text) < 2 {
		panic("BUG: search: the text is too short")
	}
	rarest := 0
	for i := range len(text) {
		if rarity(text[i]) > rarity(text[rarest]) {
			rarest = i
		}
	}
	// A byte's neighbour often follows from it: u after q. Another is more selective, where there is one.
	other := -1
	for i := range len(text) {
		if near := i-rarest >= -1 && i-rarest <= 1; i == rarest || near && len(text) > 3 {
			continue
		}
		if other < 0 || rarity(text[i]) > rarity(text[other]) {
			other = i
		}
	}
	lo, hi := min(rarest, other), max(rarest, other)
	return &Needle{text: text, at: lo, gap: hi - lo, first: text[lo], second: text[hi]}
}

// Index returns the first place of the needle in s, -1 for none.
func (n *Needle) Index(s []byte) int {
	for from := 0; from+len(n.text) <= len(s); {
		k := next(s[from+n.at:len(s)-(len(n.text)-n.at-n.gap-1)], n.first, n.second, n.gap)
		if k < 0 {
			return -1
		}
		from += k
		if string(s[from:from+len(n.text)]) == n.text {
			return from
		}
		from++
	}
	return -1
}

// Rows calls f, in ascending order, with each row that has the needle in it. Row i is
// data[offs[i]:offs[i+1]].
func (n *Needle) Rows(offs []int32, data []byte, f func(row int)) {
	rows := len(offs) - 1
	if rows <= 0 {
		return
	}
	end := int(offs[rows])
	for row, at := 0, int(offs[0]); ; {
		k := n.Index(data[at:end])
		if k < 0 {
			return
		}
		at += k
		for row += skip(offs[row+1:], at); int(offs[row+1]) <= at; row++ {
		}
		if at+len(n.text) > int(offs[row+1]) { // it ends in another row
			at++
			continue
		}
		f(row)
		at = int(offs[row+1])
	}
}

// skip returns how many of the ends, in steps of 16, are not beyond at.
func skip(ends []int32, at int) int {
	n := 0
	for n+16 <= len(ends) && int(ends[n+15]) <= at {
		n += 16
	}
	return n
}

// nextGo returns the first i with s[i] = first and s[i+gap] = second, -1 for none.
func nextGo(s []byte, first, second byte, gap int) int {
	for i := 0; i+gap < len(s); i++ {
		k := bytes.IndexByte(s[i:len(s)-gap], first)
		if k < 0 {
			return -1
		}
		if i += k; s[i+gap] == second {
			return i
		}
	}
	return -1
}
