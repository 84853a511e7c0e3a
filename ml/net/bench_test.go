package net

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// BenchmarkEpoch is an epoch over rows with two columns of many categories, the
// steps of a mini-batch on one thread.
func BenchmarkEpoch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	d := &familytest.Data{Cats: []int{24, 7, 230, 230}, Classes: 2}
	const rows = 8192
	for range rows {
		d.X, d.Y = append(d.X, []float64{r.NormFloat64()}), append(d.Y, float64(r.IntN(2)))
		d.Code = append(d.Code, []int32{int32(r.IntN(24)), int32(r.IntN(7)), int32(r.IntN(230)), int32(r.IntN(230))})
	}
	o, err := familytest.Options(mlp, "batch_size", 1024, "epochs", 1000000)
	if err != nil {
		b.Fatal(err)
	}
	fit := d.Fitted(true)
	plan, err := mlp.Plan(&family.Request{Options: o, Target: &fit.Label})
	if err != nil {
		b.Fatal(err)
	}
	set := &family.Setup{Options: o, Plan: plan, Fitted: fit, Rows: rows, Weight: rows}
	block := d.All(true)
	drv, err := mlp.NewDriver(set)
	if err != nil {
		b.Fatal(err)
	}
	w, err := mlp.NewWorker(set, &family.Node{Threads: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(rows)
	for b.Loop() {
		for range rows / 1024 {
			s := drv.Next()
			from := s.Batch.Step * 1024
			var sum family.Message
			p, err := w.NewPass(s)
			if err != nil {
				b.Fatal(err)
			}
			for _, part := range plan.Cut([]family.Rows{{From: from, To: from + 1024}}) {
				if err := p.Add(context.Background(), part, block); err != nil {
					b.Fatal(err)
				}
				if m := p.Partial(); sum == nil {
					sum = m
				} else if sum, err = mlp.Merge(s.Op, sum, m); err != nil {
					b.Fatal(err)
				}
			}
			if err := drv.Tell(sum); err != nil {
				b.Fatal(err)
			}
		}
	}
}
