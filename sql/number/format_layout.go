package number

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/tochar"
)

// numWriter lays digits out under a format, place by place.
type numWriter struct {
	*Format
	out       []byte
	number    string // digits and point
	at        int    // the next of number
	spaces    int    // places before the first digit
	count     int
	curr      int // places written
	sign      byte
	wroteSign bool
	inNumber  bool // a digit has been written
	cut       bool // the digits have run out: nothing more is written
	last      int  // with FM, the last of number that matters; -1: all do
}

func (f *Format) write(number string, spaces int, sign byte) (string, error) {
	w := numWriter{Format: f, number: number, spaces: spaces, sign: sign, last: -1}
	if f.zeroStart > 0 {
		f.zeroStart--
	}
	if f.has(nfRoman) {
		f.sign, f.preAtSign, f.pre, f.post, w.spaces, w.sign = signNone, 0, 0, 0, 0, 0
		f.flags = f.flags&nfFill | nfRoman
	}
	if f.has(nfPlus | nfMinus) {
		w.wroteSign = !f.has(nfPlus) || f.has(nfMinus)
	} else {
		if w.sign != '-' && f.has(nfFill) {
			f.flags &^= nfBracket
		}
		w.wroteSign = w.sign == '+' && f.has(nfFill) && !f.has(nfSign)
		if f.sign == signPre && f.pre == f.preAtSign {
			f.sign = signPost
		}
	}
	w.count = f.post + f.pre - 1
	if f.has(nfFill) && f.has(nfDecimal) {
		if w.last = strings.IndexByte(number, '.'); w.last >= 0 {
			for i := w.last + 1; i < len(number); i++ {
				if number[i] != '0' {
					w.last = i
				}
			}
			if f.zeroEnd > w.spaces {
				// Digits that the format asks for with 0 stay.
				w.last = max(w.last, min(len(number)-1, f.zeroEnd-w.spaces))
			}
		}
	}
	if !w.wroteSign && w.spaces == 0 {
		w.count++
	}
	for i := range f.nodes {
		if err := w.node(&f.nodes[i]); err != nil {
			return "", err
		}
		if w.cut {
			break
		}
	}
	return string(w.out), nil
}

func (w *numWriter) put(s string) { w.out = append(w.out, s...) }

func (w *numWriter) node(n *tochar.Node) error {
	if n.Kind != tochar.KindField {
		w.put(n.Text)
		return nil
	}
	upper := n.Key.Name[0] < 'a'
	switch n.Key.ID {
	case tochar.Num9, tochar.Num0, tochar.NumPoint, tochar.NumD:
		w.place(n.Key.ID)
	case tochar.NumComma, tochar.NumG:
		switch {
		case w.inNumber:
			w.put(",")
		case !w.has(nfFill):
			w.put(" ")
		}
	case tochar.NumL:
		w.put(" ")
	case tochar.NumRN:
		s := w.number
		if !w.has(nfFill) {
			s = fmt.Sprintf("%15s", s)
		}
		if !upper {
			s = strings.ToLower(s)
		}
		w.put(s)
	case tochar.NumTH:
		if w.has(nfRoman|nfDecimal) || w.number[0] == '#' || w.sign == '-' {
			break
		}
		if !ascii.IsDigit(w.number[len(w.number)-1]) {
			return pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a number", w.number)
		}
		w.put(tochar.Ordinal(w.number, upper))
	case tochar.NumMI:
		w.signOr('-')
	case tochar.NumPL:
		w.signOr('+')
	case tochar.NumSG:
		if w.sign != 0 {
			w.out = append(w.out, w.sign)
		}
	}
	return nil
}

func (w *numWriter) signOr(c byte) {
	if w.sign == c {
		w.out = append(w.out, c)
	} else if !w.has(nfFill) {
		w.put(" ")
	}
}

// predecSpace reports whether the 0 before a point is left out, as in " .1".
func (w *numWriter) predecSpace() bool {
	return !w.has(nfZero) && w.at == 0 && w.number[0] == '0' && w.post != 0
}

func (w *numWriter) lastIsPoint() bool { return w.last >= 0 && w.number[w.last] == '.' }

// place writes what belongs to one digit place or the point.
func (w *numWriter) place(id tochar.ID) {
	if w.has(nfRoman) {
		return
	}
	w.inNumber = false
	if !w.wroteSign && (w.curr >= w.spaces || w.has(nfZero) && w.zeroStart == w.curr) &&
		(!w.predecSpace() || w.lastIsPoint()) {
		w.writeSign()
	}
	switch {
	case w.curr < w.spaces && (w.zeroStart > w.curr || !w.has(nfZero)):
		if !w.has(nfFill) {
			w.put(" ")
		}
	case w.has(nfZero) && w.curr < w.spaces:
		w.put("0")
		w.inNumber = true
	default:
		if w.digit(id); w.cut {
			return
		}
	}
	end := w.count
	if w.spaces > 0 {
		end++
	}
	if w.has(nfDecimal) {
		end++
	}
	if w.last >= 0 && w.last == w.at {
		end = w.curr
	}
	if w.curr+1 == end {
		switch {
		case w.wroteSign && w.has(nfBracket):
			if w.sign == '+' {
				w.put(" ")
			} else {
				w.put(">")
			}
		case w.has(nfSign) && w.Format.sign == signPost:
			w.out = append(w.out, w.sign)
		}
	}
	w.curr++
}

func (w *numWriter) writeSign() {
	switch {
	case w.has(nfSign):
		if w.Format.sign != signPre {
			return
		}
		w.out = append(w.out, w.sign)
	case w.has(nfBracket):
		if w.sign == '+' {
			w.put(" ")
		} else {
			w.put("<")
		}
	case w.sign == '+':
		if !w.has(nfFill) {
			w.put(" ")
		}
	case w.sign == '-':
		w.put("-")
	}
	w.wroteSign = true
}

func (w *numWriter) digit(id tochar.ID) {
	if w.at < len(w.number) && w.number[w.at] == '.' {
		if !w.lastIsPoint() || w.has(nfFill) {
			w.put(".")
		}
	} else {
		switch {
		case w.last >= 0 && w.at > w.last && id != tochar.Num0:
		case w.predecSpace():
			if !w.has(nfFill) {
				w.put(" ")
			} else if w.lastIsPoint() {
				w.put("0")
			}
		default:
			if w.at == len(w.number) {
				w.cut = true
				return
			}
			w.out = append(w.out, w.number[w.at])
			w.inNumber = true
		}
	}
	if w.at < len(w.number) {
		w.at++
	}
}

// numReader reads a number by a format: to_number().
type numReader struct {
	*Format
	s                 string
	pos               int
	sign              byte
	digits            []byte
	readPre, readPost int
	readPoint         bool
}

// ParseNumberFormat is to_number(text, format). ok is false where the answer
// is NULL.
func ParseNumberFormat(s, format string) (d Decimal, ok bool, err error) {
	if format == "" {
		return Decimal{}, false, nil
	}
	f, err := ParseFormat(format)
	if err != nil {
		return Decimal{}, false, err
	}
	if f.has(nfExp) {
		return Decimal{}, false, pgerr.New(pgerr.FeatureNotSupported, "\"EEEE\" not supported for input")
	}
	if f.has(nfRoman) {
		return Decimal{}, false, pgerr.New(pgerr.FeatureNotSupported, "\"RN\" not supported for input")
	}
	r := numReader{Format: f, s: s, sign: ' '}
	for i := range f.nodes {
		if r.pos >= len(s) {
			break
		}
		r.node(&f.nodes[i])
	}
	text := string(r.sign) + strings.TrimSuffix(string(r.digits), ".")
	if d, err = ParseDecimal(text); err != nil {
		return Decimal{}, false, err
	}
	prec := f.pre + f.multi + r.readPost
	if d, err = FitNumeric(int32(prec<<16|r.readPost)+4, d); err != nil {
		return Decimal{}, false, err
	}
	if f.has(nfMulti) {
		p, err := Decimal{coef: 10}.Pow(Decimal{coef: int64(-f.multi)})
		if err != nil {
			return Decimal{}, false, err
		}
		d, err = d.Mul(p)
		return d, err == nil, err
	}
	return d, true, nil
}

func (r *numReader) end() bool { return r.pos >= len(r.s) }

func (r *numReader) node(n *tochar.Node) {
	if n.Kind != tochar.KindField {
		r.skip(1, false)
		return
	}
	switch n.Key.ID {
	case tochar.Num9, tochar.Num0, tochar.NumPoint, tochar.NumD:
		r.place(n.Key.ID)
		r.pos++
	case tochar.NumComma, tochar.NumG:
		if r.s[r.pos] == ',' {
			r.pos++
		}
	case tochar.NumL:
		r.skip(1, true)
	case tochar.NumTH:
		r.skip(2, true)
	case tochar.NumMI:
		r.signAt("-")
	case tochar.NumPL:
		r.signAt("+")
	case tochar.NumSG:
		r.signAt("+-")
	}
}

func (r *numReader) signAt(signs string) {
	if strings.IndexByte(signs, r.s[r.pos]) >= 0 {
		r.sign = r.s[r.pos]
		r.pos++
		return
	}
	r.skip(1, true)
}

// skip passes over characters; with keep it stops at what may be part of the number.
func (r *numReader) skip(n int, keep bool) {
	for ; n > 0 && !r.end(); n-- {
		if keep && strings.IndexByte("0123456789.,+-", r.s[r.pos]) >= 0 {
			return
		}
		r.pos++
		for !r.end() && r.s[r.pos]&0xc0 == 0x80 {
			r.pos++
		}
	}
}

// place reads one digit or the point, with a sign before or behind. It leaves
// pos on the last character read; the caller steps over it.
func (r *numReader) place(id tochar.ID) {
	if r.s[r.pos] == ' ' {
		r.pos++
	}
	if r.end() {
		return
	}
	if r.sign == ' ' && (id == tochar.Num0 || id == tochar.Num9) && r.readPre+r.readPost == 0 {
		c := r.s[r.pos]
		switch {
		case r.has(nfSign) && r.Format.sign == signPre:
			if c == '-' || c == '+' {
				r.sign = c
				r.pos++
			}
		case c == '-' || r.has(nfBracket) && c == '<':
			r.sign = '-'
			r.pos++
		case c == '+':
			r.sign = '+'
			r.pos++
		}
	}
	if r.end() {
		return
	}
	read := false
	switch c := r.s[r.pos]; {
	case ascii.IsDigit(c):
		if r.readPoint && r.readPost == r.post {
			return
		}
		r.digits = append(r.digits, c)
		if r.readPoint {
			r.readPost++
		} else {
			r.readPre++
		}
		read = true
	case r.has(nfDecimal) && !r.readPoint && c == '.':
		r.digits = append(r.digits, '.')
		r.readPoint, read = true, true
	}
	if r.sign != ' ' || r.readPre+r.readPost == 0 {
		return
	}
	switch {
	case r.has(nfSign) && read:
		if r.pos+1 < len(r.s) && (r.s[r.pos+1] == '-' || r.s[r.pos+1] == '+') {
			r.pos++
			r.sign = r.s[r.pos]
		}
	case !read && !r.has(nfSign):
		if c := r.s[r.pos]; c == '-' || c == '+' {
			r.sign = c
		}
	}
}
