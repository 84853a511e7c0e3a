package agg

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestTextKeys: texts have the same number again and others have another, empty and long ones, of plain columns
// and of dictionaries, and as those of another code.
func TestTextKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	some := func() string {
		switch s := strconv.Itoa(r.IntN(20000)); r.IntN(50) {
		case 0:
			return ""
		case 1:
			return strings.Repeat(s, 1+r.IntN(3000))
		default:
			return s
		}
	}
	plain := func(texts []string, valid []bool) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(texts, valid)
		return b.NewArray()
	}
	codes := []*textKeys{newTextKeys(), newTextKeys()}
	numbers := []map[string]uint64{{}, {}}
	check := func(c int, texts []string, valid []bool, keys []uint64) {
		t.Helper()
		for i, s := range texts {
			if !valid[i] {
				continue
			}
			k, known := numbers[c][s]
			if !known {
				k, numbers[c][s] = keys[i], keys[i]
			}
			if k != keys[i] || codes[c].text(keys[i]) != s {
				t.Fatalf("text of %d bytes is number %d, then %d, which is one of %d bytes", len(s), k, keys[i], len(codes[c].text(keys[i])))
			}
		}
	}
	for turn := range 60 {
		texts, valid := make([]string, 1+r.IntN(500)), make([]bool, 0, 500)
		for i := range texts {
			texts[i] = some()
			valid = append(valid, r.IntN(9) > 0)
		}
		c := turn % 2
		check(c, texts, valid, codes[c].encode(plain(texts, valid), nil))
		index := array.NewInt32Builder(memory.DefaultAllocator)
		rows := make([]string, 700)
		ok := make([]bool, len(rows))
		for i := range rows {
			k := r.IntN(len(texts))
			rows[i], ok[i] = texts[k], r.IntN(9) > 0
			if ok[i] {
				index.Append(int32(k))
			} else {
				index.AppendNull()
			}
		}
		dict := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, index.NewArray(), plain(texts, nil))
		check(c, rows, ok, codes[c].encode(dict, nil))
	}
	for c := range codes {
		if codes[c].n() != len(numbers[c]) {
			t.Errorf("%d texts, of which %d are different", codes[c].n(), len(numbers[c]))
		}
	}
	var texts []string
	var valid []bool
	var keys []uint64
	for s, k := range numbers[1] {
		texts, valid, keys = append(texts, s, s), append(valid, true, true), append(keys, k, k)
	}
	merge := func(to int) {
		t.Helper()
		again := slices.Clone(keys)
		codes[to].translate(codes[1], again)
		check(to, texts, valid, again)
	}
	merge(0)
	// One that goes on with the numbers of another, gets more texts, and is merged into others.
	for _, of := range []int{0, 1} {
		c := len(codes)
		codes, numbers = append(codes, newTextKeys()), append(numbers, maps.Clone(numbers[of]))
		if codes[c].goOn(codes[of]); !codes[c].goesOn(codes[of]) || codes[c].n() != codes[of].n() {
			t.Fatal("an empty code does not go on with another's numbers")
		}
		merge(c)
		more := []string{"one more", some(), some(), "one more", "and another"}
		ok := []bool{true, true, true, true, true}
		check(c, more, ok, codes[c].encode(plain(more, nil), nil))
		last := newTextKeys()
		all := make([]uint64, codes[c].n())
		for k := range all {
			all[k] = uint64(k)
		}
		last.translate(codes[c], all)
		for k, is := range all {
			if want := codes[c].text(uint64(k)); last.text(is) != want {
				t.Fatalf("%q was merged as %q", want, last.text(is))
			}
		}
		if last.n() != codes[c].n() {
			t.Errorf("%d texts became %d", codes[c].n(), last.n())
		}
	}
}
