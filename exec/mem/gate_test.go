package mem

import (
	"errors"
	"testing"
	"testing/synctest"
)

// TestGatePanics: a goroutine that panics in a gate, while it takes memory or after, leaves it: one that is
// refused then is alone, and learns it instead of waiting for ever.
func TestGatePanics(t *testing.T) {
	none := func() error { return nil }
	boom := func() error { panic("boom") }
	for name, enter := range map[string]func(g *Gate) error{
		"first": func(g *Gate) error { return g.Enter(boom) },
		"again": func(g *Gate) error {
			refused := false
			return g.Enter(func() error {
				if !refused {
					refused = true
					return errors.New("refused")
				}
				return boom()
			})
		},
		"work": func(g *Gate) error { return g.Hold(none, boom) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g Gate
				func() {
					defer func() { _ = recover() }()
					t.Error(enter(&g))
				}()
				refused := errors.New("refused")
				if err := g.Enter(func() error { return refused }); err != refused {
					t.Error(err)
				}
				if err := g.Hold(none, none); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
