package families

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/decomp"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/kmeans"
	"github.com/tributarydb/tributary/ml/linear"
	"github.com/tributarydb/tributary/ml/net"
	"github.com/tributarydb/tributary/ml/tree"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// All are the families, in the order of the manual.
var All = slices.Concat(
	linear.Families(),
	tree.Families(),
	kmeans.Families(),
	decomp.Families(),
	net.Families(),
)

// planned are names of algorithms that users of other systems know and that are
// not here.
var planned = []string{"matrix_factorization", "arima_plus"}

// Names are the names of all families.
func Names() (out []string) {
	for _, f := range All {
		out = append(out, f.Info().Name)
	}
	return out
}

// Find gives a family by its name or a synonym, in any case: 22023 for an
// unknown one, 0A000 for one that is known but not here.
func Find(name string) (family.Family, error) {
	name = strings.ToLower(name)
	hint := "Algorithms are " + strings.Join(Names(), ", ") + "."
	var names []string
	for _, f := range All {
		i := f.Info()
		if i.Name == name || slices.Contains(i.Synonyms, name) {
			return f, nil
		}
		names = append(append(names, i.Name), i.Synonyms...)
	}
	if slices.Contains(planned, name) {
		return nil, pgerr.Unsupported("algorithm %q is not supported", name).WithHint("%s", hint)
	}
	e := pgerr.New(pgerr.InvalidParameterValue, "unrecognized algorithm %q", name)
	if near := family.Nearest(name, names); near != "" {
		return nil, e.WithHint("Did you mean %q? %s", near, hint)
	}
	return nil, e.WithHint("%s", hint)
}

// Markdown is the manual's list of families with the options of their own.
func Markdown() string {
	var b strings.Builder
	for _, f := range All {
		i := f.Info()
		b.WriteString("### `" + i.Name + "`\n\n" + i.Doc)
		if len(i.Synonyms) > 0 {
			b.WriteString(" Also called `" + strings.Join(i.Synonyms, "`, `") + "`.")
		}
		b.WriteString("\n\n" + family.Markdown(f.Options()) + "\n")
	}
	return b.String()
}
