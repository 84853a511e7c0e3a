package codec_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/codec"
)

// TestNumbers: a list of numbers has the bytes of a list of structs' fields, one number after the
// other, whatever the type of the list; nil is not an empty one, and a length beyond the input is
// refused before anything is allocated.
func TestNumbers(t *testing.T) {
	type named []int64
	type numbers struct {
		I []int64
		N named
		F []float64
		S []float32
		A [2]uint64
	}
	v := numbers{I: []int64{0, -1, math.MinInt64}, N: named{5}, F: []float64{0.5, math.Inf(1)}, S: []float32{0.25}, A: [2]uint64{1, 300}}
	var want []byte
	want = binary.AppendUvarint(want, 4)
	for _, x := range v.I {
		want = binary.AppendVarint(want, x)
	}
	want = binary.AppendVarint(append(want, 2), 5)
	want = append(want, 3)
	for _, x := range v.F {
		want = binary.LittleEndian.AppendUint64(want, math.Float64bits(x))
	}
	want = binary.LittleEndian.AppendUint32(append(want, 2), math.Float32bits(0.25))
	want = binary.AppendUvarint(binary.AppendUvarint(want, 1), 300)
	want = append([]byte{byte(len(want))}, want...)
	b := codec.Marshal(v)
	if !bytes.Equal(b, want) {
		t.Fatalf("%v\nwant %v", b, want)
	}
	back, err := codec.Unmarshal[numbers](b)
	if err != nil || !slices.Equal(back.I, v.I) || !slices.Equal(back.N, v.N) || !slices.Equal(back.F, v.F) || !slices.Equal(back.S, v.S) || back.A != v.A {
		t.Errorf("%+v %v", back, err)
	}
	if back, err = codec.Unmarshal[numbers](codec.Marshal(numbers{I: []int64{}})); err != nil || back.I == nil || back.F != nil {
		t.Errorf("%+v %v", back, err)
	}
	long := binary.AppendUvarint(nil, 1<<40)
	if _, err := codec.Unmarshal[[]float64](long); err == nil {
		t.Error("a length beyond the input is accepted")
	}
	var first []int64
	if rest, err := codec.Read(append(codec.Marshal([]int64{7}), 9), &first); err != nil || !slices.Equal(first, []int64{7}) || !bytes.Equal(rest, []byte{9}) {
		t.Errorf("%v, rest %v, %v", first, rest, err)
	}
}

func BenchmarkNumbers(b *testing.B) {
	list := make([]float64, 1<<20)
	for b.Loop() {
		if _, err := codec.Unmarshal[[]float64](codec.Marshal(list)); err != nil {
			b.Fatal(err)
		}
	}
}
