package feature

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Keeps checks that encoders of an earlier training may encode the rows that now
// was fitted to: their parameters then mean the same. The columns are the same,
// encoded alike, and have no class that f does not know. 22023 where it cannot be.
func (f *Fitted) Keeps(now *Fitted) error {
	bad := func(column, why string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "a training cannot go on from the model: column %q %s", column, why).OnColumn(column).
			WithHint("Leave warm_start out.")
	}
	for i := range now.Cols {
		c := &now.Cols[i]
		if i >= len(f.Cols) || f.Cols[i].Name != c.Name {
			return bad(c.Name, "was not its feature, or not in this place")
		}
		was := &f.Cols[i]
		switch {
		case was.Type != c.Type:
			return bad(c.Name, "was of type "+was.Type.String())
		case was.Encoder != c.Encoder, c.Encoder == Bucketize && !slices.Equal(was.Bounds, c.Bounds):
			return bad(c.Name, "was encoded in another way")
		case was.Dim != c.Dim:
			return bad(c.Name, "had arrays of another length")
		}
	}
	switch {
	case len(f.Cols) > len(now.Cols):
		return bad(f.Cols[len(now.Cols)].Name, "is missing")
	case f.Label != now.Label:
		return bad(now.Label.Name, "was not its target")
	case f.Narrow != now.Narrow:
		return pgerr.New(pgerr.InvalidParameterValue, "a training cannot go on from the model: it had another precision").WithHint("Leave warm_start out.")
	}
	for _, k := range now.Keys {
		if !slices.Contains(f.Keys, k) {
			return bad(now.Label.Name, "has a class that the model does not know: "+KeyText(now.Label.Type, k))
		}
	}
	return nil
}
