package linear

import "github.com/tributarydb/tributary/ml/optim"

// bytes returns the most that a driver holds: vectors of parameters, and some square
// matrices where second derivatives are used.
func (d *driver) bytes() int64 {
	p := d.root.problem
	vectors := optim.CoreVectors + 3 // a gradient, and the best or the last parameters
	squares, factor := 0, int64(0)
	switch d.how {
	case byGram: // products, the equations and their factor; Newton's method may come after
		squares, factor = 3, optim.FactorBytes(p.per)
	case byRows: // the rows, their products and the factor; where it does not fit, what comes then
		m := d.s.Counted
		rows := 16*m*int64(p.per+p.width()) + dualBytes(m)
		as := *d
		as.how = d.primal
		return max(rows+8*8*int64(p.size()), as.bytes())
	case newton:
		squares = 1
	case newtonCG:
		vectors += 5
	case lbfgs:
		vectors = optim.HistoryVectors + 3
		if d.preconditions() { // products, the Hessian with and without the penalty, and its factor
			squares = 4
		}
		if d.inUnits() {
			if vectors += 4; d.uneven() && p.per <= gramParams {
				squares = 3
			}
		}
	}
	if d.errors {
		squares = max(squares, 1)
	}
	side := int64(p.per + 1)
	return 8*(int64(vectors)*int64(p.size())+int64(squares)*side*side+4*side) + factor
}
