package settings

import (
	_ "embed"
	"strconv"
	"strings"
)

// inertText are PostgreSQL 15's settings that have no effect here, a line each: name, kind,
// unit, context, value, least, most, the values of an enumeration, category, and "=" where no
// other value is taken, since it would promise something (array_nulls, temp_file_limit). Clients
// read them and set those of a session; what the server itself would do by them cannot be set.
//
//go:embed inert.txt
var inertText string

func inertDefs() (out []*Def) {
	for line := range strings.Lines(inertText) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		d := &Def{Name: f[0], Kind: Kind(f[1]), Unit: f[2], Context: Context(f[3]), Default: f[4], Category: f[8], only: f[9] == "=", inert: true,
			Desc: "Known as PostgreSQL's; it has no effect here."}
		d.Min, _ = strconv.ParseInt(f[5], 10, 64)
		d.Max, _ = strconv.ParseInt(f[6], 10, 64)
		if f[7] != "" {
			d.Enum = strings.Split(f[7], ",")
		}
		out = append(out, d)
	}
	return out
}
