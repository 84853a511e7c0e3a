package impute

import "math"

// Nearest fills a gap with the mean of the nearest rows of the training, donors, that have the number,
// as scikit-learn's KNNImputer does. The distance of two rows is that over the columns which both have
// (nan_euclidean): the root of the mean of the squared differences. A donor of weight w is w rows.
type Nearest struct {
	Neighbors  int
	ByDistance bool // donors count by the inverse of their distance
}

// What the numbers of a fitted Nearest begin with; the means by column follow, and then donors: the
// weight and the numbers of each.
const (
	nearestNeighbors = iota
	nearestByDistance
	nearestColumns
	nearestHead
)

// Fit returns the numbers of a fitted imputation. donors are rows, whose order decides between those of equal
// distance; a row far from all donors gets the means.
func (n Nearest) Fit(means []float64, donors [][]float64, weights []float64) []float64 {
	out := make([]float64, nearestHead, nearestHead+len(means)+len(donors)*(len(means)+1))
	out[nearestNeighbors], out[nearestColumns] = float64(n.Neighbors), float64(len(means))
	if n.ByDistance {
		out[nearestByDistance] = 1
	}
	out = append(out, means...)
	for i, row := range donors {
		out = append(append(out, weights[i]), row...)
	}
	return out
}

// OpenNearest returns the Filler of numbers that Fit returned for so many columns, nil where they are not.
func OpenNearest(numbers []float64, columns int) Filler {
	if columns < 1 || len(numbers) < nearestHead+columns || numbers[nearestColumns] != float64(columns) ||
		!(numbers[nearestNeighbors] >= 1) || (len(numbers)-nearestHead-columns)%(columns+1) != 0 {
		return nil
	}
	return &nearest{k: numbers[nearestNeighbors], byDistance: numbers[nearestByDistance] != 0,
		means: numbers[nearestHead : nearestHead+columns], donors: numbers[nearestHead+columns:], near: make([]neighbours, columns)}
}

type nearest struct {
	k             float64
	byDistance    bool
	means, donors []float64
	has, gaps     []int // columns of the row
	near          []neighbours
}

// Fill implements Filler.
func (n *nearest) Fill(row []float64) {
	n.has, n.gaps = n.has[:0], n.gaps[:0]
	for j, x := range row {
		if x == x {
			n.has = append(n.has, j)
		} else {
			n.gaps = append(n.gaps, j)
			n.near[j].reset()
		}
	}
	if len(n.gaps) == 0 {
		return
	}
	limit := math.Inf(1) // of the squared distance: beyond it a donor is too far for every gap
	for at, d := 0, len(row); at < len(n.donors); at += d + 1 {
		weight, donor := n.donors[at], n.donors[at+1:at+1+d]
		distance, ok := n.distance(row, donor, limit)
		if !ok {
			continue
		}
		closer := false
		for _, j := range n.gaps {
			if x := donor[j]; x == x {
				closer = n.near[j].add(neighbour{distance, weight, x}, n.k) || closer
			}
		}
		if closer {
			limit = 0
			for _, j := range n.gaps {
				limit = max(limit, n.near[j].limit)
			}
		}
	}
	for _, j := range n.gaps {
		row[j] = n.near[j].mean(n.k, n.byDistance, n.means[j])
	}
}

// distance returns the squared distance of a row and a donor; ok is false where they have no column in
// common, or the distance is certainly beyond the limit.
func (n *nearest) distance(row, donor []float64, limit float64) (distance float64, ok bool) {
	sum, both := 0.0, 0
	most := limit * float64(len(n.has)) * (1 + 0x1p-40)
	for _, j := range n.has {
		diff := row[j] - donor[j]
		if diff != diff {
			continue
		}
		both++
		if sum += float64(diff * diff); sum > most {
			return 0, false
		}
	}
	return sum / float64(both), both > 0
}

// neighbour is a donor of a number.
type neighbour struct{ distance, weight, value float64 }

// neighbours are the nearest donors of a column, ascending by distance.
type neighbours struct {
	list  []neighbour
	total float64 // of their weights
	limit float64 // the distance at which no further donor counts
}

func (n *neighbours) reset() { *n = neighbours{list: n.list[:0], limit: math.Inf(1)} }

// add adds a donor if it is among those that k rows in all are taken of.
func (n *neighbours) add(d neighbour, k float64) (added bool) {
	if d.distance >= n.limit {
		return false
	}
	at := len(n.list)
	n.list = append(n.list, d)
	for ; at > 0 && n.list[at-1].distance > d.distance; at-- {
		n.list[at] = n.list[at-1]
	}
	n.list[at] = d
	n.total += d.weight
	for last := len(n.list) - 1; n.total-n.list[last].weight >= k; last-- {
		n.total -= n.list[last].weight
		n.list = n.list[:last]
	}
	if n.total >= k {
		n.limit = n.list[len(n.list)-1].distance
	}
	return true
}

// mean is that of the k nearest rows, otherwise where there are none.
func (n *neighbours) mean(k float64, byDistance bool, otherwise float64) float64 {
	sum, total := 0.0, 0.0
	for _, d := range n.list {
		w := min(d.weight, k)
		k -= w
		if byDistance && n.list[0].distance == 0 { // these alone
			if d.distance > 0 {
				break
			}
		} else if byDistance {
			w /= math.Sqrt(d.distance)
		}
		sum += float64(w * d.value)
		total += w
	}
	if !(total > 0) {
		return otherwise
	}
	return sum / total
}
