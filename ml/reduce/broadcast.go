package reduce

// Stripes is the number of broadcast trees. A place with children in one tree has none
// in the other, so that no place sends more than it receives, and the root sends
// everything once.
const Stripes = 2

// Children returns the places to which a place forwards in a stripe's tree: a binary
// one over the places 1 … n-1 below place 0, in the second stripe in the opposite
// order.
//
//	stripe 0      0            stripe 1      0
//	              1                          7
//	           ┌──┴──┐                    ┌──┴──┐
//	           2     3                    6     5
//	         ┌─┴─┐ ┌─┴─┐                ┌─┴─┐ ┌─┴─┐
//	         4   5 6   7                4   3 2   1
func Children(n, stripe, place int) (out []int) {
	others := n - 1
	at := func(i int) int {
		if stripe == 0 {
			return 1 + i
		}
		return others - i
	}
	if place == 0 {
		if others > 0 {
			out = append(out, at(0))
		}
		return out
	}
	i := place - 1
	if stripe != 0 {
		i = others - place
	}
	for c := 2*i + 1; c <= 2*i+2 && c < others; c++ {
		out = append(out, at(c))
	}
	return out
}

// Star returns the places to which a place sends where place 0 sends to each directly.
func Star(n, place int) (out []int) {
	for i := 1; i < n && place == 0; i++ {
		out = append(out, i)
	}
	return out
}
