//go:build amd64 && !noasm

package bins

type body func(t *Table, dst []byte, v []float64, s Scale) int

// bodies are those that run here for a table.
func bodies(t *Table) map[string]body {
	m := map[string]body{}
	if eights {
		m["AVX2"] = findByFirst
	}
	if sixteen && len(t.edges) <= len(t.levels) {
		m["AVX512"] = findByLevels
	}
	return m
}

func checkBodies(t *Table, v []float64, s Scale, check func(name string, find func(dst []byte))) {
	for name, f := range bodies(t) {
		check(name, func(dst []byte) {
			n := f(t, dst, v, s)
			t.find(dst[n:len(v)], v[n:], s)
		})
	}
}

func benchBodies(run func(name string, f func()), t *Table, dst []byte, v []float64, s Scale) {
	for name, f := range bodies(t) {
		run(name, func() { f(t, dst, v, s) })
	}
}
