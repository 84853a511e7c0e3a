package sysview

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/types"
)

// TestManualRelations keeps the manual's list of system relations.
func TestManualRelations(t *testing.T) {
	rows := map[string][][]string{}
	full, empty := map[string][]string{}, map[string][]string{}
	short := strings.NewReplacer("timestamp with time zone", "timestamptz", "double precision", "float8")
	for _, sh := range Catalog().list {
		switch {
		case sh.space == "ml" || sh.space == "cluster":
			var cols []string
			for _, c := range sh.cols {
				cols = append(cols, c.Name+" "+short.Replace(types.TypeName(c.Type.OID)))
			}
			rows[sh.space] = append(rows[sh.space], []string{"`" + sh.space + "." + sh.name + "`", strings.Join(cols, ", ")})
		case sh.rows == nil:
			empty[sh.space] = append(empty[sh.space], sh.name)
		default:
			full[sh.space] = append(full[sh.space], sh.name)
		}
	}
	const page = "docs/reference/system-relations.md"
	for _, s := range []string{"ml", "cluster"} {
		manual.Part(t, page, s, manual.Table([]string{"relation", "columns"}, rows[s]))
	}
	for _, s := range []string{"pg_catalog", "information_schema"} {
		list := func(names []string) string {
			slices.Sort(names)
			return "`" + strings.Join(names, "`, `") + "`"
		}
		manual.Part(t, page, s, manual.Table([]string{"", ""}, [][]string{{"with rows", list(full[s])}, {"always empty", list(empty[s])}}))
	}
}
