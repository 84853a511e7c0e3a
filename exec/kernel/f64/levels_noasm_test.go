//go:build !amd64 || noasm

package f64

func levels() []bodies { return nil }

func coarseLevels() []func(m []int32, stride int, a, b []byte, quads int) { return nil }

func errorLevels() []errorBodies { return nil }

func packCoarseLevels() []func(dst []byte, x []float32, shift, scale []float64, d, tiles int) {
	return nil
}

func scoreLevels() []scoreBodies { return nil }

func momentLevels() []momentBodies { return nil }
