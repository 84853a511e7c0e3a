package charset

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed differences.txt
var differences string

// exceptions are the characters for which an encoding's tables are not PostgreSQL's.
type exceptions struct {
	read  map[string]rune // none (-1) for bytes without an equivalent
	write map[rune]string // "" for characters without
}

const none = rune(-1)

// controls says that bytes from 0x80 to 0x9F are the control characters of those numbers, as in ISO 8859.
func (c *Charset) controls() bool {
	return c.length == nil && (strings.HasPrefix(c.Name, "LATIN") || strings.HasPrefix(c.Name, "ISO"))
}

var byCharset = sync.OnceValue(func() map[string]*exceptions {
	out := map[string]*exceptions{}
	for _, c := range byName {
		out[c.Name] = &exceptions{map[string]rune{}, map[rune]string{}}
		for x := 0x80; c.controls() && x < 0xa0; x++ {
			out[c.Name].add(c, string([]byte{byte(x)}), rune(x))
		}
	}
	for line := range strings.Lines(differences) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		c := byName[plain(f[0])]
		x := out[c.Name]
		switch f[1] {
		case "<":
			x.write[rune(number(f[3]))] = bytesFrom(number(f[2]))
		case ">":
			for n := number(f[2]); n <= number(f[3]); n++ {
				b := bytesFrom(n)
				if r, ok := c.table(b); ok && x.read[b] != none && c.length([]byte(b)) == len(b) {
					x.write[r] = b
				}
			}
		default:
			first, count := number(f[1]), uint64(1)
			if len(f) > 3 {
				count, _ = strconv.ParseUint(f[3], 10, 32)
			}
			for i := range count {
				r := none
				if f[2] != "-" {
					r = rune(number(f[2]) + i)
				}
				x.add(c, bytesFrom(first+i), r)
			}
		}
	}
	return out
})

// add notes that bytes are read as r, and what that means for writing.
func (x *exceptions) add(c *Charset, b string, r rune) {
	x.read[b] = r
	if was, ok := c.table(b); ok && was != r {
		back, err := c.conv.NewEncoder().String(string(was))
		if _, known := x.write[was]; !known && err == nil && back == b {
			x.write[was] = ""
		}
	}
	if r != none {
		x.write[r] = b
	}
}

// table is what the tables that c is made of read bytes as.
func (c *Charset) table(b string) (rune, bool) {
	s, err := c.conv.NewDecoder().String(b)
	r, size := utf8.DecodeRuneInString(s)
	return r, err == nil && r != utf8.RuneError && size == len(s)
}

func number(hex string) uint64 {
	n, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		panic(fmt.Sprintf("charset: %v", err))
	}
	return n
}

func bytesFrom(n uint64) string {
	var b []byte
	for ; n > 0; n >>= 8 {
		b = append([]byte{byte(n)}, b...)
	}
	return string(b)
}
