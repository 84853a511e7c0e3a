package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// The hash is the same on every node and in every release of a cluster, since exchanges distribute
// rows by it. Constants are those of wyhash, whose mixing step it uses.
const (
	hashK0   = 0xa0761d6478bd642f
	hashK1   = 0xe7037ed1a0b428db
	hashK2   = 0x8ebc6af09c88c6e3
	hashNull = 0x589965cc75374cc3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash64 hashes one 8-byte value.
func hash64(v uint64) uint64 { return mix(v^hashK0, hashK1) }

// HashInt returns the hash of an integer column's value v.
func HashInt(v int64) uint64 { return hash64(uint64(v)) }

// combine folds the hash of a further column into that of those before it. One of the two is
// rotated first: else all rows in which two columns are equal would have one hash.
func combine(h, v uint64) uint64 { return mix(bits.RotateLeft64(h, 23)^v, hashK2^h) }

// HashBytes hashes a byte string.
func HashBytes(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * hashK2
	for len(b) > 16 {
		h = mix(binary.LittleEndian.Uint64(b)^hashK0^h, binary.LittleEndian.Uint64(b[8:])^hashK1)
		b = b[16:]
	}
	var lo, hi uint64
	switch m := len(b); {
	case m >= 8:
		lo = binary.LittleEndian.Uint64(b)
		hi = binary.LittleEndian.Uint64(b[m-8:])
	case m >= 4:
		lo = uint64(binary.LittleEndian.Uint32(b))
		hi = uint64(binary.LittleEndian.Uint32(b[m-4:]))
	case m > 0:
		lo = uint64(b[0]) | uint64(b[m>>1])<<8 | uint64(b[m-1])<<16
	}
	return mix(mix(lo^hashK0, hi^hashK1^h), hashK1^uint64(n))
}

// Hasher hashes rows of columns of given types. It has scratch memory: use one a goroutine.
type Hasher struct {
	types []types.Type
	dicts []dictHashes
	tmp   []uint64
	key   []byte
}

// dictHashes are the hashes of the values of the dictionary last seen.
type dictHashes struct {
	of     *array.Data
	hashes []uint64
	seen   DictRows // of a dictionary that is too large for them so far
}

// NewHasher makes the hasher of columns of the types ts.
func NewHasher(ts []types.Type) *Hasher {
	return &Hasher{types: ts, dicts: make([]dictHashes, len(ts))}
}

// Hash hashes the n rows of cols into out, which is grown and returned. Without columns all rows
// have one hash.
func (h *Hasher) Hash(cols []arrow.Array, n int, out []uint64) []uint64 {
	out = grow(out, n)
	if len(cols) == 0 {
		clear(out)
		return out
	}
	h.column(0, cols[0], out)
	for i := 1; i < len(cols); i++ {
		h.tmp = grow(h.tmp, n)
		h.column(i, cols[i], h.tmp)
		for j, v := range h.tmp {
			out[j] = combine(out[j], v)
		}
	}
	return out
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

func (h *Hasher) column(i int, arr arrow.Array, out []uint64) {
	hashArray(h, i, h.types[i], arr, out)
	if bm, off := valid(arr); bm != nil {
		for j := range out {
			if !batch.Bit(bm, off+j) {
				out[j] = hashNull
			}
		}
	}
}

func hashArray(h *Hasher, i int, t types.Type, arr arrow.Array, out []uint64) {
	switch a := arr.(type) {
	case *array.Int64:
		if t.IsFixed() && t.Scale > 0 {
			for j, v := range a.Int64Values() {
				out[j] = hashDecimal(v, int32(t.Scale))
			}
			return
		}
		hashInts(a.Int64Values(), out)
	case *array.Int32:
		hashInts(a.Int32Values(), out)
	case *array.Int16:
		hashInts(a.Int16Values(), out)
	case *array.Uint32:
		hashInts(a.Uint32Values(), out)
	case *array.Date32:
		hashInts(a.Date32Values(), out)
	case *array.Timestamp:
		hashInts(a.TimestampValues(), out)
	case *array.Time64:
		hashInts(a.Time64Values(), out)
	case *array.Float64:
		for j, v := range a.Float64Values() {
			out[j] = hashFloat(v)
		}
	case *array.Float32:
		for j, v := range a.Float32Values() {
			out[j] = hashFloat(float64(v))
		}
	case *array.Boolean:
		for j := range out {
			v := uint64(0)
			if a.Value(j) {
				v = 1
			}
			out[j] = hash64(v)
		}
	case *array.String:
		if t.OID == types.JSONBOID {
			h.byKey(t, arr, out)
			return
		}
		hashVar(t, arr, out)
	case *array.Binary:
		if t.OID == types.NumericOID {
			for j := range out {
				out[j] = h.numeric(a.Value(j))
			}
			return
		}
		hashVar(t, arr, out)
	case *array.Dictionary:
		h.dictionary(i, t, a, out)
	case *array.FixedSizeBinary:
		if t.OID != types.UUIDOID {
			h.byKey(t, arr, out)
			return
		}
		for j := range out {
			out[j] = HashBytes(a.Value(j))
		}
	default:
		h.byKey(t, arr, out)
	}
}

func hashInts[T ~int16 | ~int32 | ~int64 | ~uint32](v []T, out []uint64) {
	out = out[:len(v)]
	for j, x := range v {
		out[j] = hash64(uint64(int64(x)))
	}
}

func hashFloat(v float64) uint64 {
	switch {
	case v == 0: // both zeros
		return hash64(0)
	case v != v:
		return hash64(math.Float64bits(math.NaN()))
	}
	return hash64(math.Float64bits(v))
}

// hashDecimal hashes v times 10^-scale by its normal form, the least scale.
func hashDecimal(v int64, scale int32) uint64 {
	for scale > 0 && v%10 == 0 {
		if v == 0 {
			scale = 0
			break
		}
		v /= 10
		scale--
	}
	return hash64(uint64(v) ^ uint64(scale)<<56)
}

func (h *Hasher) numeric(b []byte) uint64 {
	if v, scale, ok := number.SmallDecimalBytes(b); ok {
		return hashDecimal(v, scale)
	}
	h.key = number.NormalizeDecimalBytes(h.key[:0], b)
	if v, scale, ok := number.SmallDecimalBytes(h.key); ok {
		return hashDecimal(v, scale)
	}
	return HashBytes(h.key)
}

func hashVar(t types.Type, arr arrow.Array, out []uint64) {
	d := arr.Data()
	offs, data := offsets(d), bytesOf(d)
	for j := range out {
		out[j] = HashBytes(types.Compared(t, data[offs[j]:offs[j+1]]))
	}
}

func (h *Hasher) dictionary(i int, t types.Type, a *array.Dictionary, out []uint64) {
	vals := dictOf(a)
	index := values[int32](a.Data())
	cache := dictHashes{}
	if i >= 0 {
		cache = h.dicts[i]
	}
	if cache.of == nil || cache.of != vals {
		if vals == nil {
			return // no rows
		}
		rows := len(out)
		if i >= 0 {
			rows = h.dicts[i].seen.Add(vals, rows)
		}
		if vals.Len() > 4*rows {
			// A large dictionary for few rows: hash what the rows use.
			if t.OID == types.JSONBOID {
				h.byKey(t, Flatten(a), out)
				return
			}
			offs, data := offsets(vals), bytesOf(vals)
			for j, k := range index {
				if a.IsValid(j) {
					out[j] = HashBytes(types.Compared(t, data[offs[k]:offs[k+1]]))
				}
			}
			return
		}
		cache = dictHashes{of: vals, hashes: make([]uint64, vals.Len())}
		hashArray(h, -1, t, array.MakeFromData(vals), cache.hashes)
		if i >= 0 {
			h.dicts[i] = cache
		}
	}
	if len(cache.hashes) == 0 {
		return // all rows are NULL
	}
	if a.NullN() > 0 {
		for j, k := range index {
			if a.IsValid(j) {
				out[j] = cache.hashes[k]
			}
		}
		return
	}
	for j, k := range index {
		out[j] = cache.hashes[k]
	}
}

// byKey hashes by the ordering key, which is equal for equal values of any
// type: jsonb, intervals, arrays, records.
func (h *Hasher) byKey(t types.Type, arr arrow.Array, out []uint64) {
	for j := range out {
		h.key = AppendKey(h.key[:0], t, arr, j)
		out[j] = HashBytes(h.key)
	}
}

// Each use of a hash takes bits of its own, so that rows divided for one purpose still spread for
// another: spilling the upper half from the top, exchanges the lower half from its top, hash tables
// the lower half from the bottom and the upper half as a tag.

// Parts is the number of partitions of one level of spilling.
const Parts = 32

// Part returns the partition of a hash at a level of spilling, from 0.
func Part(h uint64, level int) int { return int(h>>(59-5*level)) & (Parts - 1) }

// Dest returns which of n tasks a row with hash h goes to.
func Dest(h uint64, n int) int { return int(uint64(uint32(h)) * uint64(n) >> 32) }

// Dests returns the first and the last of n tasks that get rows of part part of of: divisions by
// any number are ranges of the hash.
func Dests(part, of, n int) (first, last int) {
	least := func(part int) uint64 { return (uint64(part)<<32 + uint64(of) - 1) / uint64(of) }
	return Dest(least(part), n), Dest(least(part+1)-1, n)
}
