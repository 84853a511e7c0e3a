package types

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
)

// PgType is one row of pg_type.
type PgType struct {
	OID                          OID
	Name                         string // typname
	SQLName                      string // format_type's name, without modifier
	Len                          int16
	ByVal                        bool
	Kind, Category               byte // typtype, typcategory
	Preferred                    bool
	Elem, Array                  OID
	Align, Storage               byte
	Input, Output, Receive, Send string
	ModIn, ModOut                string
	Collation                    OID
	Subscript                    string
}

// readPgTypes reads the rows of pg_type.
func readPgTypes(lines string) []PgType {
	var rows []PgType
	names := map[OID]string{}
	array := []string{"array_in", "array_out", "array_recv", "array_send", "", "", "", "array_subscript_handler"}
	for _, line := range strings.Split(strings.Trim(lines, "\n"), "\n") {
		f := strings.Split(line, "|")
		num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
		fn := func(i int) string {
			if f[i] == "*" {
				return array[i-12]
			}
			return f[i]
		}
		p := PgType{
			OID: OID(num(0)), Name: f[1], SQLName: f[2], Len: int16(num(3)), ByVal: f[4] == "t",
			Kind: f[5][0], Category: f[6][0], Preferred: f[7] == "t", Elem: OID(num(8)), Array: OID(num(9)),
			Align: f[10][0], Storage: f[11][0], Input: fn(12), Output: fn(13), Receive: fn(14), Send: fn(15),
			ModIn: f[16], ModOut: f[17], Collation: OID(num(18)), Subscript: fn(19),
		}
		if p.SQLName == "" {
			p.SQLName = p.Name
		}
		rows = append(rows, p)
		names[p.OID] = p.SQLName
	}
	slices.SortFunc(rows, func(a, b PgType) int { return cmp.Compare(a.OID, b.OID) })
	for i := range rows {
		if p := &rows[i]; p.Category == 'A' && p.Name[0] == '_' {
			p.SQLName = names[p.Elem] + "[]"
		}
	}
	return rows
}

// typeNames has the built-in types by their names.
var typeNames = sync.OnceValue(func() map[string]OID {
	names := map[string]OID{}
	for _, p := range PgTypes() {
		names[p.Name] = p.OID
	}
	for _, p := range PgTypes() {
		if _, taken := names[p.SQLName]; !taken {
			names[p.SQLName] = p.OID
		}
	}
	for name, o := range map[string]OID{
		"int": Int4OID, "decimal": NumericOID, "dec": NumericOID, "float": Float8OID, "boolean": BoolOID,
		"character": BpcharOID, "character varying": VarcharOID, "national character": BpcharOID, "nchar": BpcharOID,
		"bit varying": VarbitOID,
	} {
		names[name] = o
	}
	return names
})

// PgTypes returns the rows of pg_type for the built-in types and their arrays,
// ordered by OID. The slice must not be modified.
func PgTypes() []PgType { return pgTypes }

// PgTypeOf returns the row of one built-in type.
func PgTypeOf(o OID) (PgType, bool) {
	if p := o.def().pg; p != nil {
		return *p, true
	}
	return PgType{}, false
}

// IsPseudo reports whether t is a type that no column may have.
func (t Type) IsPseudo() bool {
	p := t.OID.def().pg
	return p != nil && p.Kind == 'p'
}

// ByName finds a built-in type by any of its names: int, int4, integer,
// timestamp with time zone, _int4, integer[], with or without pg_catalog and
// quotes. It knows no modifiers and no types of a user.
func ByName(name string) (OID, bool) {
	s := ascii.TrimSpace(name)
	if strings.HasSuffix(s, "[]") {
		o, ok := ByName(strings.TrimSuffix(s, "[]"))
		if !ok {
			return 0, false
		}
		a := o.def().array
		return a, a != 0
	}
	s = strings.TrimPrefix(s, "pg_catalog.")
	if s == `"char"` {
		return CharOID, true
	}
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
		return ByTypname(s)
	}
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	if s == "char" {
		return BpcharOID, true // the SQL type; the one-byte type is written "char"
	}
	o, ok := typeNames()[s]
	return o, ok
}

// BaseName returns pg_type.typname of a built-in type.
func BaseName(oid OID) (string, bool) {
	if p := oid.def().pg; p != nil {
		return p.Name, true
	}
	return "", false
}

// ByTypname finds a built-in type by pg_type.typname, where char is "char".
func ByTypname(name string) (OID, bool) {
	if name == "char" {
		return CharOID, true
	}
	o, ok := typeNames()[name]
	if !ok || o.def().pg.Name != name {
		return 0, false
	}
	return o, true
}

func builtinName(o OID) (string, bool) {
	if p := o.def().pg; p != nil {
		return p.SQLName, true
	}
	return "", false
}

// TypeName is the SQL name of a built-in type without modifier; ??? for others.
func TypeName(o OID) string {
	if n, ok := builtinName(o); ok {
		return n
	}
	return "???"
}

// String is format_type(): the SQL name with the modifier.
func (t Type) String() string {
	if p := t.OID.def().pg; p != nil && p.Name[0] == '_' || t.OID >= UserArrayBit {
		e, _ := t.Elem()
		return e.String() + "[]"
	}
	mod := t.Mod
	switch t.OID {
	case BpcharOID:
		if mod >= 5 {
			return "character(" + strconv.Itoa(int(mod)-4) + ")"
		}
		if mod < 0 {
			return "bpchar"
		}
		return "character"
	case VarcharOID:
		if mod >= 5 {
			return "character varying(" + strconv.Itoa(int(mod)-4) + ")"
		}
	case BitOID, VarbitOID:
		if mod > 0 {
			return TypeName(t.OID) + "(" + strconv.Itoa(int(mod)) + ")"
		}
		if t.OID == BitOID && mod < 0 {
			return `"bit"` // bit alone would mean bit(1)
		}
	case NumericOID:
		if p, s, ok := number.NumericMod(mod); ok {
			return "numeric(" + strconv.Itoa(p) + "," + strconv.Itoa(s) + ")"
		}
	case TimeOID, TimetzOID, TimestampOID, TimestamptzOID:
		name := TypeName(t.OID)
		if mod >= 0 {
			head, tail, _ := strings.Cut(name, " ")
			return head + "(" + strconv.Itoa(int(mod)) + ") " + tail
		}
		return name
	case IntervalOID:
		return "interval" + datetime.IntervalModText(mod)
	}
	return TypeName(t.OID)
}
