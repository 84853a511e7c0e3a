package tree

import "github.com/tributarydb/tributary/ml/feature"

// codeNames returns the input column of each code.
func codeNames(f *feature.Fitted) []string {
	slots := f.Slots()[f.Dense:]
	var out []string
	at := 0
	for _, n := range f.CodeSlots() {
		name := ""
		if n > 0 {
			name = slots[at].Column
		}
		out = append(out, name)
		at += n
	}
	return out
}
