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
	var rows [][]string
	full, empty := map[string][]string{}, map[string][]string{}
	for _, sh := range Catalog().list {
		switch {
		case sh.space == "ml" || sh.space == "cluster":
			var cols []string
			for _, c := range sh.cols {
				cols = append(cols, c.Name+" "+types.TypeName(c.Type.OID))
			}
			rows = append(rows, []string{"`" + sh.space + "." + sh.name + "`", strings.Join(cols, ", ")})
		case sh.rows == nil:
			empty[sh.space] = append(empty[sh.space], "`"+sh.name+"`")
		default:
			full[sh.space] = append(full[sh.space], "`"+sh.name+"`")
		}
	}
	text := manual.Table([]string{"relation", "columns"}, rows)
	for _, s := range []string{"pg_catalog", "information_schema"} {
		slices.Sort(full[s])
		slices.Sort(empty[s])
		text += "\n`" + s + "`: " + strings.Join(full[s], ", ") + ".\n\nThere, but always empty: " + strings.Join(empty[s], ", ") + ".\n"
	}
	manual.Part(t, "docs/reference/system-relations.md", "relations", text)
}
