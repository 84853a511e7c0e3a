package types

import "testing"

// TestTable holds the table of types to what its users take for granted.
func TestTable(t *testing.T) {
	for _, p := range PgTypes() {
		typ := Type{OID: p.OID, Mod: -1}
		if d := p.OID.def(); d.oid != p.OID || d.pg.Name != p.Name {
			t.Errorf("%s has the row of %d", p.Name, d.oid)
		}
		if a, ok := ArrayOf(typ); ok {
			if e, isArray := a.Elem(); !isArray || e.OID != p.OID || !a.IsArray() {
				t.Errorf("the elements of %s's array are %d", p.Name, e.OID)
			}
		}
		if typ.IsPseudo() || p.OID.def().parse == nil {
			continue
		}
		if w := typ.Form().Width(); w == 0 && p.OID.def().size > 0 && !typ.IsString() {
			t.Errorf("%s has %d bytes on the wire, and no width in a column", p.Name, p.OID.def().size)
		}
		if g, ok := PgTypeOf(p.OID.General()); !ok || typ.IsArray() != (g.OID == AnyArrayOID) {
			t.Errorf("%s is served by operators of %s", p.Name, g.Name)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Int4.Form(); Numeric.Class(); Text.Arrow(); Type{OID: FirstUserOID}.IsString() }); n != 0 {
		t.Errorf("looking up a type allocates %v times", n)
	}
}
