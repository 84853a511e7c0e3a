package feature

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Keeps checks that the encoders f of an earlier training can encode the rows that
// now was fitted to, so that its parameters keep their meaning: the columns are
// the same, with the same encoders, and have no class that f lacks. The error is
// 22023.
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
		case c.Encoder == TargetEncode:
			return bad(c.Name, "is encoded by the targets of other rows")
		case was.Encoder != c.Encoder, c.Encoder == Bucketize && !slices.Equal(was.Bounds, c.Bounds):
			return bad(c.Name, "was encoded in another way")
		case was.Dim != c.Dim && c.Encoder != OneHot:
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
	known := func(of Target, keys []string) error {
		for _, k := range of.Keys {
			if !slices.Contains(keys, k) {
				return bad(of.Name, "has a class that the model does not know: "+KeyText(of.Type, k))
			}
		}
		return nil
	}
	for i, t := range now.More {
		if i >= len(f.More) || f.More[i].Name != t.Name {
			return bad(t.Name, "was not its target")
		}
		if was := f.More[i]; (was.Keys == nil) != (t.Keys == nil) || t.Keys != nil && was.Type != t.Type {
			return bad(t.Name, "was of type "+was.Type.String())
		}
		if err := known(t, f.More[i].Keys); err != nil {
			return err
		}
	}
	return known(Target{now.Label, now.Keys}, f.Keys)
}
