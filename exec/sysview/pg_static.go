package sysview

import (
	"strings"
	"sync"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// encodingUTF8 is PostgreSQL's number of the only encoding there is.
const encodingUTF8 = 6

// The locale is byte order over UTF-8, on every node.
const locale = "C.UTF-8"

var accessMethods = []struct {
	oid           types.OID
	name, handler string
	kind          string
}{
	{heapAM, "heap", "heap_tableam_handler", "t"}, {btreeAM, "btree", "bthandler", "i"}, {405, "hash", "hashhandler", "i"},
	{783, "gist", "gisthandler", "i"}, {2742, "gin", "ginhandler", "i"}, {3580, "brin", "brinhandler", "i"}, {4000, "spgist", "spghandler", "i"},
}

func pgAM(_ *view, put put) error {
	for _, a := range accessMethods {
		if err := put(a.oid, a.name, procedures().oid(a.handler), a.kind); err != nil {
			return err
		}
	}
	return nil
}

var collations = []struct {
	oid      types.OID
	name     string
	provider string
	encoding int
	locale   string
}{
	{100, "default", "d", -1, ""}, {950, "C", "c", -1, "C"}, {951, "POSIX", "c", -1, "POSIX"},
	{12340, "ucs_basic", "c", encodingUTF8, "C"}, {12341, "C.utf8", "c", encodingUTF8, "C.utf8"},
}

func pgCollation(_ *view, put put) error {
	for _, c := range collations {
		err := put(c.oid, c.name, catalog.PgCatalogOID, catalog.BootstrapRoleOID, c.provider, true, c.encoding, text(c.locale), text(c.locale), nil, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

func pgLanguage(_ *view, put put) error {
	for _, l := range []struct {
		oid       types.OID
		name      string
		trusted   bool
		validator string
	}{{internalLanguage, "internal", false, "fmgr_internal_validator"}, {13, "c", false, "fmgr_c_validator"}, {sqlLanguage, "sql", true, "fmgr_sql_validator"},
		{starlarkLanguage, "starlark", true, "fmgr_internal_validator"}} {
		if err := put(l.oid, l.name, catalog.BootstrapRoleOID, false, l.trusted, 0, 0, procedures().oid(l.validator), nil); err != nil {
			return err
		}
	}
	return nil
}

func pgTablespace(_ *view, put put) error {
	for _, t := range []struct {
		oid  types.OID
		name string
	}{{1663, "pg_default"}, {1664, "pg_global"}} {
		if err := put(t.oid, t.name, catalog.BootstrapRoleOID, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func pgDatabase(v *view, put put) error {
	db := v.st.Database()
	return put(catalog.DatabaseOID, catalog.DatabaseName, db.Owner, encodingUTF8, "c", false, true, -1, 0, 0, 1663,
		locale, locale, nil, nil, v.aclText(db.Object()))
}

// objects returns the lines of a table of catalog objects with so many fields: 3 of operator families, 7 of
// operator classes, 5 of functions that no statement can call.
func objects(fields int) [][]string {
	var out [][]string
	for _, l := range tableLines("objects") {
		if f := strings.Fields(l); len(f) == fields {
			out = append(out, f)
		}
	}
	return out
}

// opclass is a row of pg_opclass.
type opclass struct {
	oid, method types.OID
	name        string
	family      types.OID
	typ         types.OID
	isDefault   bool
	key         types.OID
}

var opclasses = sync.OnceValue(func() []opclass {
	var out []opclass
	for _, f := range objects(7) {
		out = append(out, opclass{types.OID(parseNumber(f[0])), types.OID(parseNumber(f[1])), f[2], types.OID(parseNumber(f[3])), types.OID(parseNumber(f[4])),
			f[5] == "t", types.OID(parseNumber(f[6]))})
	}
	return out
})

// defaultClass returns the operator class that a method uses for a type.
func defaultClass(method, t types.OID) types.OID {
	t = t.General()
	for _, c := range opclasses() {
		if c.method == method && c.typ == t && c.isDefault {
			return c.oid
		}
	}
	return 0
}

func pgOpclass(_ *view, put put) error {
	for _, c := range opclasses() {
		if err := put(c.oid, c.method, c.name, catalog.PgCatalogOID, catalog.BootstrapRoleOID, c.family, c.typ, c.isDefault, c.key); err != nil {
			return err
		}
	}
	return nil
}

func pgOpfamily(_ *view, put put) error {
	for _, f := range objects(3) {
		if err := put(parseNumber(f[0]), parseNumber(f[1]), f[2], catalog.PgCatalogOID, catalog.BootstrapRoleOID); err != nil {
			return err
		}
	}
	return nil
}

func pgTimezoneNames(v *view, put put) error {
	at := v.now()
	for _, n := range datetime.ZoneNames() {
		loc, ok := datetime.LoadZone(n)
		if !ok {
			continue
		}
		t := at.In(loc)
		abbrev, east := t.Zone()
		if err := put(n, abbrev, datetime.Interval{Micros: int64(east) * 1e6}, t.IsDST()); err != nil {
			return err
		}
	}
	return nil
}

func pgTimezoneAbbrevs(v *view, put put) error {
	for _, a := range datetime.ZoneAbbrevs(v.now()) {
		if err := put(strings.ToUpper(a.Name), datetime.Interval{Micros: int64(a.Offset) * 1e6}, a.DST); err != nil {
			return err
		}
	}
	return nil
}
