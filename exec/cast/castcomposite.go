package cast

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// arrayCast converts the elements.
func arrayCast(from, to types.Type, explicit bool) (function.Impl, error) {
	fe, _ := from.Elem()
	te, _ := to.Elem()
	conv, err := Between(fe, te, explicit)
	if err != nil {
		return nil, err
	}
	if conv == nil && fe.Prec == te.Prec && fe.Scale == te.Scale {
		if from.Arrow().ID() == to.Arrow().ID() && arrow.TypeEqual(fe.Arrow(), te.Arrow()) {
			return nil, nil
		}
	}
	if conv == nil {
		conv = asIs
	}
	elem := New(fe, te, conv)
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		list, ok := args[0].Arr.(*array.List)
		if !ok {
			return args[0], nil
		}
		n := list.Len()
		off := make([]int32, n+1)
		base, _ := list.ValueOffsets(0)
		for i := range n {
			_, end := list.ValueOffsets(i)
			off[i+1] = int32(end - base)
		}
		kids := array.NewSlice(list.ListValues(), base, base+int64(off[n]))
		v := vector.FromArrow(nil, kids)
		a := c.Arena.Fresh()
		out := vector.NewNull(0)
		if kids.Len() > 0 {
			var err error
			if out, err = elem.Apply(c.Ctx, c.Env, a, v); err != nil {
				return nil, err
			}
		}
		arr, err := out.Spread(a).ToArrow(te)
		if err != nil {
			return nil, err
		}
		if d, ok := arr.(*array.Dictionary); ok {
			if arr, err = plainStrings(c.Arena, d); err != nil {
				return nil, err
			}
		}
		var vbuf *memory.Buffer
		if list.NullN() > 0 {
			vbuf = memory.NewBufferBytes(vector.BitsFrom(nil, list.NullBitmapBytes(), list.Data().Offset(), n))
		}
		return &vector.Vec{Kind: vector.Arr, N: n, Arr: array.NewListData(array.NewData(to.Arrow(), n,
			[]*memory.Buffer{vbuf, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off))},
			[]arrow.ArrayData{arr.Data()}, list.NullN(), 0)), Valid: c.Valid}, nil
	}, nil
}

// plainStrings decodes a dictionary column: elements of lists are never dictionaries.
func plainStrings(a *vector.Arena, d *array.Dictionary) (arrow.Array, error) {
	b := array.NewStringBuilder(a.Allocator())
	v := vector.FromArrow(nil, d)
	b.Reserve(v.N)
	for i := range v.N {
		if v.Null(i) {
			b.AppendNull()
		} else {
			b.Append(v.Str(i))
		}
	}
	return b.NewArray(), nil
}

// recordCast converts the fields of row values.
func recordCast(from, to types.Type, explicit bool) (function.Impl, error) {
	if to.Rec == nil || from.Rec == nil || from.Rec == to.Rec {
		return nil, nil
	}
	if len(from.Rec.Fields) != len(to.Rec.Fields) {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type record to %s", to)
	}
	convs := make([]function.Impl, len(to.Rec.Fields))
	any := false
	for i, f := range from.Rec.Fields {
		conv, err := Between(f.Type, to.Rec.Fields[i].Type, explicit)
		if err != nil {
			return nil, err
		}
		convs[i] = conv
		any = any || conv != nil
	}
	if !any {
		return nil, nil
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		s, ok := args[0].Arr.(*array.Struct)
		if !ok {
			return args[0], nil
		}
		kids := make([]*vector.Vec, s.NumField())
		for i := range kids {
			v := vector.FromArrow(nil, s.Field(i))
			if convs[i] != nil {
				out, err := New(from.Rec.Fields[i].Type, to.Rec.Fields[i].Type, convs[i]).Apply(c.Ctx, c.Env, c.Arena.Fresh(), v)
				if err != nil {
					return nil, err
				}
				v = out
			}
			kids[i] = v
		}
		return NewStruct(c.Arena, to, kids, c.Valid, s.Len())
	}, nil
}

// NewStruct makes a column of rows of their fields.
func NewStruct(a *vector.Arena, t types.Type, kids []*vector.Vec, valid []byte, n int) (*vector.Vec, error) {
	dt, ok := t.Arrow().(*arrow.StructType)
	if !ok {
		return nil, pgerr.Internal("%s is not a row type", t)
	}
	data := make([]arrow.ArrayData, len(kids))
	for i, k := range kids {
		ft := types.Text
		if t.Rec != nil && i < len(t.Rec.Fields) {
			ft = t.Rec.Fields[i].Type
		}
		arr, err := k.Spread(a.Fresh()).ToArrow(ft)
		if err != nil {
			return nil, err
		}
		if d, ok := arr.(*array.Dictionary); ok {
			if arr, err = plainStrings(a, d); err != nil {
				return nil, err
			}
		}
		data[i] = arr.Data()
	}
	var vbuf *memory.Buffer
	nulls := 0
	if valid != nil {
		valid = append([]byte(nil), valid...)
		vbuf = memory.NewBufferBytes(valid)
		for i := range n {
			if valid[i>>3]>>(i&7)&1 == 0 {
				nulls++
			}
		}
	}
	arr := array.NewStructData(array.NewData(dt, n, []*memory.Buffer{vbuf}, data, nulls, 0))
	return &vector.Vec{Kind: vector.Arr, N: n, Arr: arr, Valid: valid}, nil
}
