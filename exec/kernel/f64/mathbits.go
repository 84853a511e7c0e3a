package f64

import "math"

// LogAll writes math.Log of each of x to y, to the bit.
func LogAll(y, x []float64) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		logs(y[:n], x[:n])
	}
	for i, v := range x[:n] {
		if !(v > 0 && v <= math.MaxFloat64) {
			y[i] = math.Log(v)
		}
	}
	logsGo(y[n:len(x)], x[n:])
}

// ExpAll writes math.Exp of each of x to y, to the bit.
func ExpAll(y, x []float64) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		exps(y[:n], x[:n])
	}
	for i, v := range x[:n] {
		if !(v >= expMin && v <= -expMin) {
			y[i] = math.Exp(v)
		}
	}
	expsGo(y[n:len(x)], x[n:])
}

// logsGo is for any numbers; the other bodies are for positive ones.
func logsGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Log(v)
	}
}

// expsGo is for any numbers; the other bodies are for those of expMin to -expMin.
func expsGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Exp(v)
	}
}
