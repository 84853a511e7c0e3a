package vector

import (
	"strings"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// sql/types allocates by itself what it parses a value into: trees of json, arrays of datums,
// output. That is charged beforehand, by the bounds below.

const (
	// jsonNode is what a value of a tree takes, in bytes, growth of its list included.
	jsonNode = 320
	// light is the length of a value below which its tree is not worth measuring.
	light = 4 << 10
)

// JSONBytes bounds the bytes that the tree of a json text takes.
func JSONBytes(s string) int {
	if len(s) < light {
		return 0
	}
	return 4*len(s) + jsonNode*(1+strings.Count(s, ",")+strings.Count(s, "[")+strings.Count(s, "{"))
}

// TextBytes bounds the bytes that parsing a value of another type takes.
func TextBytes(s string) int {
	if len(s) < light {
		return 0
	}
	return 2 * len(s)
}

// TreeBytes bounds the bytes that row i takes as a tree.
func (v *Vec) TreeBytes(i int) int {
	switch {
	case v.Kind == Str || v.Kind == Dict:
		if !v.Null(i) {
			return JSONBytes(v.Str(i))
		}
	case v.Kind == Arr && v.Arr.Len() > 0:
		if s, ok := v.Arr.(*array.Struct); ok {
			return int(8 * batch.ArrayBytes(s) / int64(s.Len()))
		}
		if n := ListLen(v.Arr, v.At(i)); n > 0 {
			return n * int(jsonNode+8*batch.ArrayBytes(v.Arr)/int64(max(v.Arr.(*array.List).ListValues().Len(), 1)))
		}
	}
	return 0
}
