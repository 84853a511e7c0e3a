package net

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins the bytes of models: they are the same for every instruction set, and a
// change of them is noticed.
func TestGoldenBits(t *testing.T) {
	for _, c := range []struct {
		activation, want string
	}{{relu, "03fe4e366429d409"}, {gelu, "1c0a2bf806807c95"}, {tanh, "3fc80aa7c99623f0"}, {sigmoid, "5639b2c104d88981"}} {
		m, err := familytest.Train(t, mlp, waves(700), familytest.Spread{Narrow: true}, "epochs", 2, "hidden_units", 20, "activation", c.activation,
			"layer_norm", true, "dropout", 0.1, "learn_rate_schedule", "cosine")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(m.Bytes))[:16]; got != c.want {
			t.Errorf("%s: the model is %s, want %s", c.activation, got, c.want)
		}
	}
}

// TestHostileBytes decodes damaged models, messages and states: what is accepted as a model can
// score, and nothing panics or allocates more than the input justifies.
func TestHostileBytes(t *testing.T) {
	d := waves(60)
	for _, f := range []*nets{mlp, autoencoder} {
		if f.self {
			d.Y = nil
		}
		m, err := familytest.Train(t, f, d, familytest.Spread{}, "hidden_units", 3, "epochs", 1)
		if err != nil {
			t.Fatal(err)
		}
		drv, err := f.NewDriver(m.Setup, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		state, err := familytest.Saved(drv)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		taken := 0
		for i := range 6000 {
			b := append([]byte{}, [][]byte{m.Bytes, state}[i%2]...)
			for range r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
			if r.IntN(2) == 0 {
				b = b[:r.IntN(len(b)+1)]
			}
			dec := canon.Read(b)
			if p, err := f.Decode(d.Fitted(false), dec); err == nil {
				p.Score(d.All(false))
				taken++
			}
			for op := range uint8(6) {
				f.DecodeStep(op, canon.Read(b))
				f.DecodePartial(op, canon.Read(b))
			}
			_ = drv.UnmarshalBinary(b)
		}
		if taken == 0 {
			t.Error("no model was taken")
		}
	}
}
