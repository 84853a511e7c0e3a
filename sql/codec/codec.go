package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Append adds the encoding of v, a value of a registered or plain type, to dst.
func Append[T any](dst []byte, v T) []byte {
	return coderOf(reflect.TypeFor[T]()).enc(dst, reflect.ValueOf(&v).Elem())
}

// Marshal encodes v.
func Marshal[T any](v T) []byte { return Append(nil, v) }

// Unmarshal decodes the result of Marshal. All of b must be consumed.
func Unmarshal[T any](b []byte) (v T, err error) {
	rest, err := Read(b, &v)
	if err == nil && len(rest) != 0 {
		err = corrupt("%d bytes too many", len(rest))
	}
	return v, err
}

// Read decodes what Append wrote at the beginning of b, and returns what is behind it.
func Read[T any](b []byte, v *T) (rest []byte, err error) { return ReadWithin(b, v, nil) }

// ReadWithin is Read with a charge for the memory of strings and lists before they are made;
// nil for none.
func ReadWithin[T any](b []byte, v *T, charge Charge) (rest []byte, err error) {
	r := &reader{b: b, charge: charge}
	err = coderOf(reflect.TypeFor[T]()).dec(r, reflect.ValueOf(v).Elem())
	return r.b, err
}

// Charge charges so many bytes.
type Charge func(bytes int) error

func corrupt(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "invalid encoding: %s", fmt.Sprintf(format, args...))
}

// Union registers the types a value of interface T may hold, as pointers to
// structs. The place in the list is the kind on disk: add at the end only.
func Union[T any](kinds ...T) {
	t := reflect.TypeFor[T]()
	byType := make(map[reflect.Type]uint64, len(kinds))
	var list []reflect.Type
	for i, k := range kinds {
		byType[reflect.TypeOf(k)] = uint64(i + 1)
		list = append(list, reflect.TypeOf(k).Elem())
	}
	coders.Store(t, &coder{
		enc: func(dst []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(dst, 0)
			}
			kind, ok := byType[v.Elem().Type()]
			if !ok {
				panic("BUG: codec: " + v.Elem().Type().String() + " is not registered")
			}
			return coderOf(list[kind-1]).enc(binary.AppendUvarint(dst, kind), v.Elem().Elem())
		},
		dec: func(r *reader, v reflect.Value) error {
			kind, err := r.uvarint()
			if err != nil || kind == 0 {
				return err
			}
			if kind > uint64(len(list)) {
				return corrupt("unknown kind %d of %s", kind, t)
			}
			if err := r.enter(); err != nil {
				return err
			}
			defer r.leave()
			p := reflect.New(list[kind-1])
			if err := coderOf(list[kind-1]).dec(r, p.Elem()); err != nil {
				return err
			}
			v.Set(p)
			return nil
		},
		kinds: list,
	})
}

// Register sets a type's own encoding: what enc appends, behind its length. For types whose values
// are known by name on every node.
func Register[T any](enc func(dst []byte, v T) []byte, dec func(b []byte) (T, error)) {
	RegisterWithin(enc, func(b []byte, _ Charge) (T, error) { return dec(b) })
}

// RegisterWithin is Register for types that charge their memory; the charge may be nil.
func RegisterWithin[T any](enc func(dst []byte, v T) []byte, dec func(b []byte, charge Charge) (T, error)) {
	coders.Store(reflect.TypeFor[T](), &coder{
		own: true,
		enc: func(dst []byte, v reflect.Value) []byte {
			// Behind the longest length, for it to be moved and not copied where dst has room.
			dst = slices.Grow(dst, binary.MaxVarintLen64)
			at := len(dst) + binary.MaxVarintLen64
			b := enc(dst[at:at], v.Interface().(T))
			return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
		},
		dec: func(r *reader, v reflect.Value) error {
			b, err := r.bytes()
			if err != nil {
				return err
			}
			x, err := dec(b, r.charge)
			if err != nil {
				return err
			}
			v.Set(reflect.ValueOf(&x).Elem())
			return nil
		},
	})
}

// As has values of T encoded as U's: what T keeps besides is its own.
func As[T, U any](to func(v T) U, from func(x U) T) {
	inner := coderOf(reflect.TypeFor[U]())
	coders.Store(reflect.TypeFor[T](), &coder{
		as: reflect.TypeFor[U](),
		enc: func(dst []byte, v reflect.Value) []byte {
			x := to(v.Interface().(T))
			return inner.enc(dst, reflect.ValueOf(&x).Elem())
		},
		dec: func(r *reader, v reflect.Value) error {
			var x U
			if err := inner.dec(r, reflect.ValueOf(&x).Elem()); err != nil {
				return err
			}
			y := from(x)
			v.Set(reflect.ValueOf(&y).Elem())
			return nil
		},
	})
}

type coder struct {
	enc func(dst []byte, v reflect.Value) []byte
	dec func(r *reader, v reflect.Value) error
	// For Layout: what a union may hold; that the type's encoding is its own, or another's.
	kinds []reflect.Type
	own   bool
	as    reflect.Type
}

var coders sync.Map // reflect.Type → *coder

func coderOf(t reflect.Type) *coder {
	if c, ok := coders.Load(t); ok {
		return c.(*coder)
	}
	c := build(t)
	got, _ := coders.LoadOrStore(t, c)
	return got.(*coder)
}

// lazy breaks the cycle of recursive types: the element's codec is looked up when it is used.
func lazy(t reflect.Type) func() *coder { return sync.OnceValue(func() *coder { return coderOf(t) }) }

func build(t reflect.Type) *coder {
	switch t {
	case reflect.TypeFor[types.Datum]():
		return &coder{
			own: true,
			enc: func(dst []byte, v reflect.Value) []byte {
				if v.IsNil() {
					return append(dst, 0)
				}
				return AppendDatum(dst, v.Interface())
			},
			dec: func(r *reader, v reflect.Value) error {
				d, err := r.datum()
				if err == nil && d != nil {
					v.Set(reflect.ValueOf(d))
				}
				return err
			},
		}
	case reflect.TypeFor[number.Decimal]():
		return &coder{
			own: true,
			enc: func(dst []byte, v reflect.Value) []byte { return appendDecimal(dst, v.Interface().(number.Decimal)) },
			dec: func(r *reader, v reflect.Value) error {
				d, err := r.decimal()
				v.Set(reflect.ValueOf(d))
				return err
			},
		}
	case reflect.TypeFor[time.Time]():
		return timeCoder
	}
	switch t.Kind() {
	case reflect.Bool:
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				if v.Bool() {
					return append(dst, 1)
				}
				return append(dst, 0)
			},
			dec: func(r *reader, v reflect.Value) error {
				x, err := r.uvarint()
				v.SetBool(x != 0)
				return err
			},
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte { return binary.AppendVarint(dst, v.Int()) },
			dec: func(r *reader, v reflect.Value) error {
				x, err := r.varint()
				if err == nil && v.OverflowInt(x) {
					return corrupt("%d overflows %s", x, t)
				}
				v.SetInt(x)
				return err
			},
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte { return binary.AppendUvarint(dst, v.Uint()) },
			dec: func(r *reader, v reflect.Value) error {
				x, err := r.uvarint()
				if err == nil && v.OverflowUint(x) {
					return corrupt("%d overflows %s", x, t)
				}
				v.SetUint(x)
				return err
			},
		}
	case reflect.Float32, reflect.Float64:
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
			},
			dec: func(r *reader, v reflect.Value) error {
				b, err := r.take(8)
				if err == nil {
					v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
				}
				return err
			},
		}
	case reflect.String:
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				return append(binary.AppendUvarint(dst, uint64(v.Len())), v.String()...)
			},
			dec: func(r *reader, v reflect.Value) error {
				b, err := r.bytes()
				if err == nil {
					err = r.owe(len(b))
				}
				if err == nil {
					v.SetString(string(b))
				}
				return err
			},
		}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &coder{
				enc: func(dst []byte, v reflect.Value) []byte {
					if v.CanAddr() {
						return append(dst, v.Bytes()...)
					}
					n := len(dst)
					dst = append(dst, make([]byte, t.Len())...)
					reflect.Copy(reflect.ValueOf(dst[n:]), v)
					return dst
				},
				dec: func(r *reader, v reflect.Value) error {
					b, err := r.take(t.Len())
					if err == nil {
						reflect.Copy(v, reflect.ValueOf(b))
					}
					return err
				},
			}
		}
		elem := lazy(t.Elem())
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				for i := range t.Len() {
					dst = elem().enc(dst, v.Index(i))
				}
				return dst
			},
			dec: func(r *reader, v reflect.Value) error {
				for i := range t.Len() {
					if err := elem().dec(r, v.Index(i)); err != nil {
						return err
					}
				}
				return nil
			},
		}
	case reflect.Slice:
		return sliceCoder(t)
	case reflect.Map:
		return mapCoder(t)
	case reflect.Pointer:
		elem := lazy(t.Elem())
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				if v.IsNil() {
					return append(dst, 0)
				}
				return elem().enc(append(dst, 1), v.Elem())
			},
			dec: func(r *reader, v reflect.Value) error {
				x, err := r.uvarint()
				if err != nil || x == 0 {
					return err
				}
				if err := r.enter(); err != nil {
					return err
				}
				defer r.leave()
				p := reflect.New(t.Elem())
				v.Set(p)
				return elem().dec(r, p.Elem())
			},
		}
	case reflect.Struct:
		return structCoder(t)
	}
	panic("BUG: codec: no encoding of " + t.String())
}

var timeCoder = &coder{
	own: true,
	// Seconds and nanoseconds, always UTC; the zero time is a lone 0.
	enc: func(dst []byte, v reflect.Value) []byte {
		t := v.Interface().(time.Time)
		if t.IsZero() {
			return append(dst, 0)
		}
		return binary.AppendVarint(binary.AppendVarint(append(dst, 1), t.Unix()), int64(t.Nanosecond()))
	},
	dec: func(r *reader, v reflect.Value) error {
		x, err := r.uvarint()
		if err != nil || x == 0 {
			return err
		}
		sec, err := r.varint()
		if err != nil {
			return err
		}
		ns, err := r.varint()
		if err != nil || ns < 0 || ns >= 1e9 {
			return corrupt("nanoseconds %d", ns)
		}
		v.Set(reflect.ValueOf(time.Unix(sec, ns).UTC()))
		return nil
	},
}

// numbers makes a coder of a slice of numbers, of at least size bytes each, that writes the bytes of
// sliceCoder without looking at each number through reflect.
func numbers[T any](size int, put func(dst []byte, v T) []byte, get func(r *reader) (T, error)) *coder {
	return &coder{
		enc: func(dst []byte, v reflect.Value) []byte {
			list := v.Convert(reflect.TypeFor[[]T]()).Interface().([]T)
			if list == nil {
				return append(dst, 0)
			}
			dst = slices.Grow(binary.AppendUvarint(dst, uint64(len(list))+1), size*len(list))
			for _, x := range list {
				dst = put(dst, x)
			}
			return dst
		},
		dec: func(r *reader, v reflect.Value) error {
			n, err := r.uvarint()
			if err != nil || n == 0 {
				return err
			}
			if n-1 > uint64(len(r.b)/size) {
				return corrupt("%d elements, %d bytes left", n-1, len(r.b))
			}
			if err := r.owe(int(n-1) * int(reflect.TypeFor[T]().Size())); err != nil {
				return err
			}
			list := make([]T, n-1)
			for i := range list {
				if list[i], err = get(r); err != nil {
					return err
				}
			}
			v.Set(reflect.ValueOf(list).Convert(v.Type()))
			return nil
		},
	}
}

var numberSlices = map[reflect.Type]*coder{
	reflect.TypeFor[[]float64](): numbers(8, func(dst []byte, v float64) []byte {
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}, func(r *reader) (float64, error) {
		b, err := r.take(8)
		if err != nil {
			return 0, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	}),
	// A lone float32 takes 8 bytes, of a list 4.
	reflect.TypeFor[[]float32](): numbers(4, func(dst []byte, v float32) []byte {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}, func(r *reader) (float32, error) {
		b, err := r.take(4)
		if err != nil {
			return 0, err
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	}),
	reflect.TypeFor[[]int64](): numbers(1, binary.AppendVarint, (*reader).varint),
}

func sliceCoder(t reflect.Type) *coder {
	if c := numberSlices[reflect.SliceOf(t.Elem())]; c != nil {
		return c
	}
	if t.Elem().Kind() == reflect.Uint8 {
		return &coder{
			enc: func(dst []byte, v reflect.Value) []byte {
				if v.IsNil() {
					return append(dst, 0)
				}
				return append(binary.AppendUvarint(dst, uint64(v.Len())+1), v.Bytes()...)
			},
			dec: func(r *reader, v reflect.Value) error {
				n, err := r.uvarint()
				if err != nil || n == 0 {
					return err
				}
				if n-1 > uint64(len(r.b)) {
					return corrupt("%d bytes, %d left", n-1, len(r.b))
				}
				b, err := r.take(int(n - 1))
				if err == nil {
					err = r.owe(len(b))
				}
				if err == nil {
					v.SetBytes(append(make([]byte, 0, len(b)), b...))
				}
				return err
			},
		}
	}
	elem := lazy(t.Elem())
	return &coder{
		enc: func(dst []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(dst, 0)
			}
			dst = binary.AppendUvarint(dst, uint64(v.Len())+1)
			c := elem()
			for i := range v.Len() {
				dst = c.enc(dst, v.Index(i))
			}
			return dst
		},
		dec: func(r *reader, v reflect.Value) error {
			n, err := r.uvarint()
			if err != nil || n == 0 {
				return err
			}
			if n-1 > uint64(len(r.b)) { // an element takes at least a byte
				return corrupt("%d elements, %d bytes left", n-1, len(r.b))
			}
			c := elem()
			// It grows as it is read: elements may be much larger in memory than their shortest encoding.
			v.Set(reflect.MakeSlice(t, 0, int(min(n-1, 64))))
			for i := range int(n - 1) {
				if err := r.owe(int(t.Elem().Size())); err != nil {
					return err
				}
				v.Grow(1)
				v.SetLen(i + 1)
				if err := c.dec(r, v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func mapCoder(t reflect.Type) *coder {
	key, elem := lazy(t.Key()), lazy(t.Elem())
	return &coder{
		enc: func(dst []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(dst, 0)
			}
			dst = binary.AppendUvarint(dst, uint64(v.Len())+1)
			pairs := make([][]byte, 0, v.Len())
			for it := v.MapRange(); it.Next(); {
				k, x := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				k.Set(it.Key())
				x.Set(it.Value())
				pairs = append(pairs, elem().enc(key().enc(nil, k), x))
			}
			slices.SortFunc(pairs, bytes.Compare)
			for _, p := range pairs {
				dst = append(dst, p...)
			}
			return dst
		},
		dec: func(r *reader, v reflect.Value) error {
			n, err := r.uvarint()
			if err != nil || n == 0 {
				return err
			}
			if n-1 > uint64(len(r.b)) {
				return corrupt("%d pairs, %d bytes left", n-1, len(r.b))
			}
			m := reflect.MakeMap(t)
			for range n - 1 {
				k, x := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				if err := key().dec(r, k); err != nil {
					return err
				}
				if err := elem().dec(r, x); err != nil {
					return err
				}
				m.SetMapIndex(k, x)
			}
			v.Set(m)
			return nil
		},
	}
}

func structCoder(t reflect.Type) *coder {
	type field struct {
		at int
		c  func() *coder
	}
	var fields []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, field{i, lazy(f.Type)})
		}
	}
	return &coder{
		enc: func(dst []byte, v reflect.Value) []byte {
			start := len(dst)
			dst = append(dst, 0)
			for _, f := range fields {
				dst = f.c().enc(dst, v.Field(f.at))
			}
			n := uint64(len(dst) - start - 1)
			if n < 0x80 {
				dst[start] = byte(n)
				return dst
			}
			var tmp [binary.MaxVarintLen64]byte
			k := binary.PutUvarint(tmp[:], n)
			dst = append(dst, tmp[:k-1]...)
			copy(dst[start+k:], dst[start+1:len(dst)-k+1])
			copy(dst[start:], tmp[:k])
			return dst
		},
		dec: func(r *reader, v reflect.Value) error {
			b, err := r.bytes()
			if err != nil {
				return err
			}
			rest := r.b
			r.b = b
			for _, f := range fields {
				if len(r.b) == 0 {
					break // written before the field was added
				}
				if err := f.c().dec(r, v.Field(f.at)); err != nil {
					return err
				}
			}
			r.b = rest
			return nil
		},
	}
}

// maxDepth bounds nested values: twice the nesting of expressions that the parser allows, each
// level of which is a union's value or two.
const maxDepth = 50_000

type reader struct {
	b      []byte
	depth  int
	charge Charge
}

// owe charges memory.
func (r *reader) owe(n int) error {
	if r.charge == nil {
		return nil
	}
	return r.charge(n)
}

func (r *reader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return corrupt("nested too deeply")
	}
	return nil
}

func (r *reader) leave() { r.depth-- }

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.b) {
		return nil, corrupt("%d bytes, %d left", n, len(r.b))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b, nil
}

func (r *reader) uvarint() (uint64, error) {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, corrupt("bad number")
	}
	r.b = r.b[n:]
	return x, nil
}

func (r *reader) varint() (int64, error) {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		return 0, corrupt("bad number")
	}
	r.b = r.b[n:]
	return x, nil
}

// bytes reads a length and that many bytes, which alias the input.
func (r *reader) bytes() ([]byte, error) {
	n, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.b)) {
		return nil, corrupt("%d bytes, %d left", n, len(r.b))
	}
	return r.take(int(n))
}
