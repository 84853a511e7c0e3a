package cox

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// evaluation is the negative log partial likelihood at some weights, its gradient and what is subtracted
// from the Hessian; and by event the hazard of a row of score 0 up to it in its stratum, and what
// is less of it for a row with an event there.
type evaluation struct {
	Loss        float64
	Grad, Less  []float64
	Hazard, Own []float64
}

// evaluate makes an evaluation of the sums of opRisks.
func (p *problem) evaluate(list []event, v []float64) *evaluation {
	n, m := p.n, len(list)
	ev := &evaluation{Grad: make([]float64, n), Less: make([]float64, n*n), Hazard: make([]float64, m), Own: make([]float64, m)}
	last := v[2*m*(n+1):]
	ev.Loss = -last[n]
	f64.Axpy(ev.Grad, -1, last[:n])
	from := strata(list)
	at, mean := make([]float64, n+1), make([]float64, n)
	for s := range len(from) - 1 {
		clear(at)
		for k := from[s+1] - 1; k >= from[s]; k-- {
			f64.Axpy(at, 1, v[k*(n+1):][:n+1])
			tied := v[(m+k)*(n+1):][:n+1]
			times, w := 1, list[k].Weight
			if p.efron {
				times, w = int(list[k].Count), list[k].Weight/list[k].Count
			}
			for l := range times {
				share := 0.0
				if p.efron {
					share = float64(l) / list[k].Count
				}
				risk := at[n] - float64(share*tied[n])
				for j := range mean {
					mean[j] = (at[j] - float64(share*tied[j])) / risk
				}
				ev.Loss += float64(w * f64.Log1(risk))
				f64.Axpy(ev.Grad, w, mean)
				for j, x := range mean {
					if x != 0 {
						f64.Axpy(ev.Less[j*n:][:n], float64(w*x), mean)
					}
				}
				ev.Hazard[k] += w / risk
				ev.Own[k] += float64(share * w / risk)
			}
		}
		for k := from[s] + 1; k < from[s+1]; k++ {
			ev.Hazard[k] += ev.Hazard[k-1]
		}
	}
	if ev.Loss-ev.Loss != 0 {
		ev.Loss = math.Inf(1)
	}
	return ev
}
