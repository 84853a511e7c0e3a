package tochar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
)

// Kind is what one node of a to_char format is.
type Kind uint8

// The kinds of nodes.
const (
	KindField Kind = iota
	KindSeparator
	KindSpace
	KindText
)

// Node is one part of a format: a field with its modifiers, or a character
// that stands for itself.
type Node struct {
	Kind Kind
	Key  *Key
	Text string
	Mods Mods
}

// Mods are a field's modifiers.
type Mods uint8

// The modifiers.
const (
	FM Mods = 1 << iota // no padding
	TM                  // names in the session's language; unpadded
	TH                  // upper-case ordinal suffix
	Th
)

// Key is a field that a format may name.
type Key struct {
	Name  string
	ID    ID
	Digit bool // the field is read as digits
	Mode  Mode
}

// Mode is the calendar a field of a date belongs to.
type Mode uint8

// The calendars.
const (
	ModeNone Mode = iota
	ModeGregorian
	ModeISO
)

// ID names a field apart from its spelling.
type ID uint8

// The fields of dates, then those of numbers.
const (
	FieldEra ID = iota
	FieldMeridiem
	FieldCC
	FieldDAY
	FieldDDD
	FieldDD
	FieldDY
	FieldD
	FieldFF
	FieldFX
	FieldHH24
	FieldHH12
	FieldIDDD
	FieldIDay
	FieldIW
	FieldIYear
	FieldJ
	FieldMI
	FieldMM
	FieldMONTH
	FieldMON
	FieldMS
	FieldOF
	FieldQ
	FieldRM
	FieldSSSS
	FieldSS
	FieldTZ
	FieldTZH
	FieldTZM
	FieldUS
	FieldWW
	FieldW
	FieldYComma
	FieldYear
	// numbers
	NumComma
	NumPoint
	Num0
	Num9
	NumB
	NumC
	NumD
	NumE
	NumFM
	NumG
	NumL
	NumMI
	NumPL
	NumPR
	NumRN
	NumSG
	NumSP
	NumS
	NumTH
	NumV
)

// dateKeys are the fields of dates; of those that begin alike the longer comes
// first. Each is known in upper and in lower case.
var dateKeys = func() []Key {
	upper := []Key{
		{"A.D.", FieldEra, false, ModeNone}, {"A.M.", FieldMeridiem, false, ModeNone}, {"AD", FieldEra, false, ModeNone},
		{"AM", FieldMeridiem, false, ModeNone}, {"B.C.", FieldEra, false, ModeNone}, {"BC", FieldEra, false, ModeNone},
		{"CC", FieldCC, true, ModeNone}, {"DAY", FieldDAY, false, ModeNone}, {"DDD", FieldDDD, true, ModeGregorian},
		{"DD", FieldDD, true, ModeGregorian}, {"DY", FieldDY, false, ModeNone}, {"Day", FieldDAY, false, ModeNone},
		{"Dy", FieldDY, false, ModeNone}, {"D", FieldD, true, ModeGregorian},
		{"FF1", FieldFF, true, ModeNone}, {"FF2", FieldFF, true, ModeNone}, {"FF3", FieldFF, true, ModeNone},
		{"FF4", FieldFF, true, ModeNone}, {"FF5", FieldFF, true, ModeNone}, {"FF6", FieldFF, true, ModeNone},
		{"FX", FieldFX, false, ModeNone}, {"HH24", FieldHH24, true, ModeNone}, {"HH12", FieldHH12, true, ModeNone},
		{"HH", FieldHH12, true, ModeNone}, {"IDDD", FieldIDDD, true, ModeISO}, {"ID", FieldIDay, true, ModeISO},
		{"IW", FieldIW, true, ModeISO}, {"IYYY", FieldIYear, true, ModeISO}, {"IYY", FieldIYear, true, ModeISO},
		{"IY", FieldIYear, true, ModeISO}, {"I", FieldIYear, true, ModeISO}, {"J", FieldJ, true, ModeNone},
		{"MI", FieldMI, true, ModeNone}, {"MM", FieldMM, true, ModeGregorian}, {"MONTH", FieldMONTH, false, ModeGregorian},
		{"MON", FieldMON, false, ModeGregorian}, {"MS", FieldMS, true, ModeNone}, {"Month", FieldMONTH, false, ModeGregorian},
		{"Mon", FieldMON, false, ModeGregorian}, {"OF", FieldOF, false, ModeNone}, {"P.M.", FieldMeridiem, false, ModeNone},
		{"PM", FieldMeridiem, false, ModeNone}, {"Q", FieldQ, true, ModeNone}, {"RM", FieldRM, false, ModeGregorian},
		{"SSSSS", FieldSSSS, true, ModeNone}, {"SSSS", FieldSSSS, true, ModeNone}, {"SS", FieldSS, true, ModeNone},
		{"TZH", FieldTZH, false, ModeNone}, {"TZM", FieldTZM, true, ModeNone}, {"TZ", FieldTZ, false, ModeNone},
		{"US", FieldUS, true, ModeNone}, {"WW", FieldWW, true, ModeGregorian}, {"W", FieldW, true, ModeGregorian},
		{"Y,YYY", FieldYComma, true, ModeGregorian}, {"YYYY", FieldYear, true, ModeGregorian},
		{"YYY", FieldYear, true, ModeGregorian}, {"YY", FieldYear, true, ModeGregorian}, {"Y", FieldYear, true, ModeGregorian},
	}
	return withLower(upper)
}()

var numberKeys = withLower([]Key{
	{Name: ",", ID: NumComma}, {Name: ".", ID: NumPoint}, {Name: "0", ID: Num0}, {Name: "9", ID: Num9}, {Name: "B", ID: NumB},
	{Name: "C", ID: NumC}, {Name: "D", ID: NumD}, {Name: "EEEE", ID: NumE}, {Name: "FM", ID: NumFM}, {Name: "G", ID: NumG},
	{Name: "L", ID: NumL}, {Name: "MI", ID: NumMI}, {Name: "PL", ID: NumPL}, {Name: "PR", ID: NumPR}, {Name: "RN", ID: NumRN},
	{Name: "SG", ID: NumSG}, {Name: "SP", ID: NumSP}, {Name: "S", ID: NumS}, {Name: "TH", ID: NumTH}, {Name: "V", ID: NumV},
})

func withLower(upper []Key) []Key {
	out := upper
	for _, k := range upper {
		if l := strings.ToLower(k.Name); l != k.Name && strings.ToUpper(k.Name) == k.Name {
			k.Name = l
			out = append(out, k)
		}
	}
	return out
}

func findKey(keys []Key, s string) *Key {
	for i := range keys {
		if strings.HasPrefix(s, keys[i].Name) {
			return &keys[i]
		}
	}
	return nil
}

// Parse splits a to_char format into its nodes. each sees the nodes as
// they come and may refuse one.
func Parse(s string, dates bool, each func(n *Node) error) ([]Node, error) {
	keys := numberKeys
	if dates {
		keys = dateKeys
	}
	var nodes []Node
	add := func(n Node) error {
		nodes = append(nodes, n)
		if each == nil {
			return nil
		}
		return each(&nodes[len(nodes)-1])
	}
	for s != "" {
		var mods Mods
		if dates && len(s) >= 2 {
			switch s[:2] {
			case "FM", "fm":
				mods = FM
			case "TM", "tm":
				mods = TM
			}
			if mods != 0 {
				s = s[2:]
			}
		}
		if k := findKey(keys, s); k != nil && s != "" {
			s = s[len(k.Name):]
			if dates && len(s) >= 2 {
				switch s[:2] {
				case "TH":
					mods |= TH
					s = s[2:]
				case "th":
					mods |= Th
					s = s[2:]
				case "SP":
					s = s[2:]
				}
			}
			if err := add(Node{Kind: KindField, Key: k, Mods: mods}); err != nil {
				return nil, err
			}
			continue
		}
		if s == "" {
			break
		}
		if s[0] == '"' {
			s = s[1:]
			for s != "" && s[0] != '"' {
				if s[0] == '\\' && len(s) > 1 {
					s = s[1:]
				}
				_, n := utf8.DecodeRuneInString(s)
				if err := add(Node{Kind: KindText, Text: s[:n]}); err != nil {
					return nil, err
				}
				s = s[n:]
			}
			if s != "" {
				s = s[1:]
			}
			continue
		}
		if len(s) > 1 && s[0] == '\\' && s[1] == '"' {
			s = s[1:]
		}
		_, n := utf8.DecodeRuneInString(s)
		node := Node{Kind: KindText, Text: s[:n]}
		switch {
		case dates && ascii.IsPunct(s[0]):
			node.Kind = KindSeparator
		case ascii.IsSpace(s[0]):
			node.Kind = KindSpace
		}
		if err := add(node); err != nil {
			return nil, err
		}
		s = s[n:]
	}
	return nodes, nil
}

// Ordinal is the suffix of a number, whose text ends in its digits.
func Ordinal(num string, up bool) string {
	s := "th"
	if n := len(num); n > 0 && (n < 2 || num[n-2] != '1') {
		switch num[n-1] {
		case '1':
			s = "st"
		case '2':
			s = "nd"
		case '3':
			s = "rd"
		}
	}
	if up {
		return strings.ToUpper(s)
	}
	return s
}

// Num prints a number zero-padded to a width, one more for a sign, with its
// ordinal suffix if the format asks for it.
func (n *Node) Num(width int, v int64) (string, error) {
	if n.Mods&FM != 0 {
		width = 0
	} else if v < 0 {
		width++
	}
	return n.Ordinal(padded(width, v))
}

// padded is v with zeros before it up to a width, which counts a sign.
func padded(width int, v int64) string {
	if v < 0 {
		return fmt.Sprintf("%0*d", width, v)
	}
	b := strconv.AppendInt(make([]byte, 0, 24), v, 10)
	for len(b) < width {
		b = slices.Insert(b, 0, '0')
	}
	return string(b)
}

// Fixed is num without room for a sign.
func (n *Node) Fixed(width int, v int64) (string, error) {
	if n.Mods&FM != 0 {
		width = 0
	}
	return n.Ordinal(padded(width, v))
}

// Ordinal adds the ordinal suffix that the format asks for.
func (n *Node) Ordinal(s string) (string, error) {
	switch {
	case n.Mods&TH != 0:
		s += Ordinal(s, true)
	case n.Mods&Th != 0:
		s += Ordinal(s, false)
	}
	return s, nil
}

// Name prints a name padded to a width unless the format says otherwise.
func (n *Node) Name(width int, s string) (string, error) {
	if n.Mods&(FM|TM) != 0 {
		return s, nil
	}
	return fmt.Sprintf("%-*s", width, s), nil
}
