package net

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// other is a family of this package beside the MLP, with data for it.
type other struct {
	family  family.Family
	data    *familytest.Data
	block   *block.Block
	want    string
	options []any
}

func others(t *testing.T) map[string]other {
	rows, lives := echoes(400), patients(t)
	alone := *rows
	alone.Y = nil
	windows := []any{"units", ints(9, 4), "epochs", 2, "window", 4, "order_by", "at", "dropout", 0.1}
	return map[string]other{
		"lstm":             {lstmFamily, rows, windowsOf(rows, 4), "aaf78d65315fa012", windows},
		"lstm_autoencoder": {lstmAutoencoder, &alone, windowsOf(&alone, 4), "89009b4e66457ea0", windows},
		"cox":              {survival{}, lives, lives.All(true), "78181ef9fdf785d6", []any{"event", "e"}},
		"cox net":          {survival{}, lives, lives.All(true), "6f20d045109b9619", []any{"event", "e", "hidden_units", 5, "activation", "gelu", "max_iterations", 9}},
		"hazard":           {survival{}, lives, lives.All(true), "a5bbbb93a274ecb3", []any{"event", "e", "method", "hazard", "intervals", 4}},
	}
}

// TestGoldenBitsOfOthers is TestGoldenBits for the other families.
func TestGoldenBitsOfOthers(t *testing.T) {
	for name, c := range others(t) {
		m, err := familytest.Train(t, c.family, c.data, familytest.Spread{Narrow: true}, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(m.Bytes))[:16]; got != c.want {
			t.Errorf("%s: the model is %s, want %s", name, got, c.want)
		}
	}
}

// TestHostileBytesOfOthers is TestHostileBytes for the other families.
func TestHostileBytesOfOthers(t *testing.T) {
	for name, c := range others(t) {
		m, err := familytest.Train(t, c.family, c.data, familytest.Spread{Narrow: true}, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		drv, err := c.family.NewDriver(m.Setup, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		state, err := familytest.Saved(drv)
		if err != nil {
			t.Fatal(err)
		}
		fit := c.data.Fitted(true)
		r := rand.New(rand.NewPCG(1, 2))
		taken := 0
		for i := range 3000 {
			b := append([]byte{}, [][]byte{m.Bytes, state}[i%2]...)
			for range r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
			if r.IntN(2) == 0 {
				b = b[:r.IntN(len(b)+1)]
			}
			if p, err := c.family.Decode(fit, canon.Read(b)); err == nil {
				if s, ok := p.(family.Sequencer); ok && s.Length() != 4 {
					continue // package model refuses this before
				}
				p.Score(c.block)
				taken++
			}
			for op := range uint8(8) {
				c.family.DecodeStep(op, canon.Read(b))
				c.family.DecodePartial(op, canon.Read(b))
			}
			_ = drv.UnmarshalBinary(b)
		}
		if taken == 0 {
			t.Errorf("%s: no model was taken", name)
		}
	}
}
