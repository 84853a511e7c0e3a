package canon

import "github.com/tributarydb/tributary/sql/codec"

// Sparse64 and SparseInts are lists in messages of which many members may be 0.
type (
	Sparse64   []float64
	SparseInts []int64
)

func init() {
	own((*E).SparseF64s, (*D).SparseF64s, Sparse64(nil))
	own((*E).SparseI64s, (*D).SparseI64s, SparseInts(nil))
}

// own gives lists of a type the encoding of E and D.
func own[T ~[]N, N any](put func(*E, []N), get func(*D) []N, _ T) {
	codec.RegisterWithin(func(dst []byte, v T) []byte {
		e := E{B: dst}
		put(&e, v)
		return e.B
	}, func(b []byte, charge codec.Charge) (T, error) {
		d := partOf(b, charge)
		v := get(d)
		return v, d.end(charge, "a list")
	})
}

// Own has parts of messages of a type encoded as models have them.
func Own[T any](put func(e *E, v *T), get func(d *D) *T) {
	codec.RegisterWithin(func(dst []byte, v T) []byte {
		e := E{B: dst}
		put(&e, &v)
		return e.B
	}, func(b []byte, charge codec.Charge) (v T, err error) {
		d := partOf(b, charge)
		if p := get(d); p != nil {
			v = *p
		}
		return v, d.end(charge, "a part of a message")
	})
}

// partOf returns a D over a part of a message.
func partOf(b []byte, charge codec.Charge) *D {
	if charge == nil {
		return Read(b)
	}
	return ReadWithin(b, func(n int64) error { return charge(int(n)) })
}

// end charges what is left to charge, and is Done.
func (d *D) end(charge codec.Charge, what string) error {
	if charge != nil && d.err == nil {
		d.err = charge(int(d.owed))
	}
	return d.Done(what)
}

// Put appends a message: its exported fields, in the form of sql/codec.
func Put[T any](e *E, v *T) {
	e.B = codec.Append(e.B, *v)
	e.drain()
}

// Get reads a message that Put wrote, by this version or by one that knew fewer fields, or more at
// the end.
func Get[T any](d *D) *T {
	v := new(T)
	rest, err := codec.ReadWithin(d.b, v, func(n int) error { d.owe(n); return d.err })
	if d.bad || err != nil {
		d.Fail()
		return new(T)
	}
	d.b = rest
	return v
}
