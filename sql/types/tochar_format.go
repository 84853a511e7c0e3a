package types

import (
	"strings"
	"unicode/utf8"
)

// tcKind is what one node of a to_char format is.
type tcKind uint8

const (
	tcField tcKind = iota
	tcSeparator
	tcSpace
	tcText
)

// tcNode is one part of a format: a field with its modifiers, or a character
// that stands for itself.
type tcNode struct {
	kind tcKind
	key  *tcKey
	text string
	mods tcMods
}

type tcMods uint8

const (
	modFM tcMods = 1 << iota // no padding
	modTM                    // names in the session's language; unpadded
	modTH                    // upper-case ordinal suffix
	modTh
)

// tcKey is a field that a format may name.
type tcKey struct {
	name  string
	id    tcID
	digit bool // the field is read as digits
	mode  tcMode
}

// tcMode is the calendar a field of a date belongs to.
type tcMode uint8

const (
	modeNone tcMode = iota
	modeGregorian
	modeISO
)

type tcID uint8

const (
	tcEra tcID = iota
	tcMeridiem
	tcCC
	tcDAY
	tcDDD
	tcDD
	tcDY
	tcD
	tcFF
	tcFX
	tcHH24
	tcHH12
	tcIDDD
	tcIDay
	tcIW
	tcIYear
	tcJ
	tcMI
	tcMM
	tcMONTH
	tcMON
	tcMS
	tcOF
	tcQ
	tcRM
	tcSSSS
	tcSS
	tcTZ
	tcTZH
	tcTZM
	tcUS
	tcWW
	tcW
	tcYComma
	tcYear
	// numbers
	tnComma
	tnPoint
	tn0
	tn9
	tnB
	tnC
	tnD
	tnE
	tnFM
	tnG
	tnL
	tnMI
	tnPL
	tnPR
	tnRN
	tnSG
	tnSP
	tnS
	tnTH
	tnV
)

// dateKeys are the fields of dates; of those that begin alike the longer comes
// first. Each is known in upper and in lower case.
var dateKeys = func() []tcKey {
	upper := []tcKey{
		{"A.D.", tcEra, false, modeNone}, {"A.M.", tcMeridiem, false, modeNone}, {"AD", tcEra, false, modeNone},
		{"AM", tcMeridiem, false, modeNone}, {"B.C.", tcEra, false, modeNone}, {"BC", tcEra, false, modeNone},
		{"CC", tcCC, true, modeNone}, {"DAY", tcDAY, false, modeNone}, {"DDD", tcDDD, true, modeGregorian},
		{"DD", tcDD, true, modeGregorian}, {"DY", tcDY, false, modeNone}, {"Day", tcDAY, false, modeNone},
		{"Dy", tcDY, false, modeNone}, {"D", tcD, true, modeGregorian},
		{"FF1", tcFF, true, modeNone}, {"FF2", tcFF, true, modeNone}, {"FF3", tcFF, true, modeNone},
		{"FF4", tcFF, true, modeNone}, {"FF5", tcFF, true, modeNone}, {"FF6", tcFF, true, modeNone},
		{"FX", tcFX, false, modeNone}, {"HH24", tcHH24, true, modeNone}, {"HH12", tcHH12, true, modeNone},
		{"HH", tcHH12, true, modeNone}, {"IDDD", tcIDDD, true, modeISO}, {"ID", tcIDay, true, modeISO},
		{"IW", tcIW, true, modeISO}, {"IYYY", tcIYear, true, modeISO}, {"IYY", tcIYear, true, modeISO},
		{"IY", tcIYear, true, modeISO}, {"I", tcIYear, true, modeISO}, {"J", tcJ, true, modeNone},
		{"MI", tcMI, true, modeNone}, {"MM", tcMM, true, modeGregorian}, {"MONTH", tcMONTH, false, modeGregorian},
		{"MON", tcMON, false, modeGregorian}, {"MS", tcMS, true, modeNone}, {"Month", tcMONTH, false, modeGregorian},
		{"Mon", tcMON, false, modeGregorian}, {"OF", tcOF, false, modeNone}, {"P.M.", tcMeridiem, false, modeNone},
		{"PM", tcMeridiem, false, modeNone}, {"Q", tcQ, true, modeNone}, {"RM", tcRM, false, modeGregorian},
		{"SSSSS", tcSSSS, true, modeNone}, {"SSSS", tcSSSS, true, modeNone}, {"SS", tcSS, true, modeNone},
		{"TZH", tcTZH, false, modeNone}, {"TZM", tcTZM, true, modeNone}, {"TZ", tcTZ, false, modeNone},
		{"US", tcUS, true, modeNone}, {"WW", tcWW, true, modeGregorian}, {"W", tcW, true, modeGregorian},
		{"Y,YYY", tcYComma, true, modeGregorian}, {"YYYY", tcYear, true, modeGregorian},
		{"YYY", tcYear, true, modeGregorian}, {"YY", tcYear, true, modeGregorian}, {"Y", tcYear, true, modeGregorian},
	}
	return withLower(upper)
}()

var numberKeys = withLower([]tcKey{
	{name: ",", id: tnComma}, {name: ".", id: tnPoint}, {name: "0", id: tn0}, {name: "9", id: tn9}, {name: "B", id: tnB},
	{name: "C", id: tnC}, {name: "D", id: tnD}, {name: "EEEE", id: tnE}, {name: "FM", id: tnFM}, {name: "G", id: tnG},
	{name: "L", id: tnL}, {name: "MI", id: tnMI}, {name: "PL", id: tnPL}, {name: "PR", id: tnPR}, {name: "RN", id: tnRN},
	{name: "SG", id: tnSG}, {name: "SP", id: tnSP}, {name: "S", id: tnS}, {name: "TH", id: tnTH}, {name: "V", id: tnV},
})

func withLower(upper []tcKey) []tcKey {
	out := upper
	for _, k := range upper {
		if l := strings.ToLower(k.name); l != k.name && strings.ToUpper(k.name) == k.name {
			k.name = l
			out = append(out, k)
		}
	}
	return out
}

func findKey(keys []tcKey, s string) *tcKey {
	for i := range keys {
		if strings.HasPrefix(s, keys[i].name) {
			return &keys[i]
		}
	}
	return nil
}

// parseFormat splits a to_char format into its nodes. each sees the nodes as
// they come and may refuse one.
func parseFormat(s string, dates bool, each func(n *tcNode) error) ([]tcNode, error) {
	keys := numberKeys
	if dates {
		keys = dateKeys
	}
	var nodes []tcNode
	add := func(n tcNode) error {
		nodes = append(nodes, n)
		if each == nil {
			return nil
		}
		return each(&nodes[len(nodes)-1])
	}
	for s != "" {
		var mods tcMods
		if dates && len(s) >= 2 {
			switch s[:2] {
			case "FM", "fm":
				mods = modFM
			case "TM", "tm":
				mods = modTM
			}
			if mods != 0 {
				s = s[2:]
			}
		}
		if k := findKey(keys, s); k != nil && s != "" {
			s = s[len(k.name):]
			if dates && len(s) >= 2 {
				switch s[:2] {
				case "TH":
					mods |= modTH
					s = s[2:]
				case "th":
					mods |= modTh
					s = s[2:]
				case "SP":
					s = s[2:]
				}
			}
			if err := add(tcNode{kind: tcField, key: k, mods: mods}); err != nil {
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
				if err := add(tcNode{kind: tcText, text: s[:n]}); err != nil {
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
		node := tcNode{kind: tcText, text: s[:n]}
		switch {
		case dates && isPunct(s[0]):
			node.kind = tcSeparator
		case isSpace(s[0]):
			node.kind = tcSpace
		}
		if err := add(node); err != nil {
			return nil, err
		}
		s = s[n:]
	}
	return nodes, nil
}

// ordinal is the suffix of a number, whose text ends in its digits.
func ordinal(num string, up bool) string {
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
