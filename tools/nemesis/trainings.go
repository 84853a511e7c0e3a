package main

import (
	"context"
	"fmt"
	"time"
)

// trainings trains the same model repeatedly: whatever happens meanwhile, it has the
// bytes of an undisturbed run, also when a failed training is resumed.
type trainings struct {
	hash string
	made bool // a model must be there
}

const (
	trainRows = "CREATE TABLE nm_train AS SELECT * FROM make_classification(n_samples => 4000, n_features => 6, n_informative => 3, n_redundant => 1, random_state => 7)"
	train     = "TRAIN OR REPLACE MODEL nm_model USING logistic_regression PREDICT y WITH (optimizer = 'adam', max_iterations = 24, batch_size = 400, checkpoint_every = 4) AS SELECT * FROM nm_train"
	modelHash = "SELECT sha256 FROM ml.models WHERE name = 'nm_model'"
)

func (w *trainings) name() string { return "trainings" }

func (w *trainings) setup(ctx context.Context, s *session) error {
	if err := setupAll(ctx, s, trainRows, train); err != nil {
		return err
	}
	rows, err := s.read(ctx, modelHash)
	if err != nil || len(rows) != 1 {
		return fmt.Errorf("setup: %d models: %w", len(rows), err)
	}
	w.hash, w.made = rows[0][0].(string), true
	return setupAll(ctx, s, "DROP MODEL nm_model", train)
}

func (w *trainings) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){func(ctx context.Context, s *session) {
		if s.r.IntN(2) == 0 {
			return // it slows the other workloads
		}
		op := context.WithoutCancel(ctx)
		for ctx.Err() == nil {
			if _, o := s.exec(op, train); o == acked {
				rows, err := s.try(op, modelHash)
				if err == nil && (len(rows) != 1 || rows[0][0] != w.hash) {
					s.c.report("trainings: the model is %v, that of an undisturbed run is %s", rows, w.hash)
				}
			}
			wait(ctx, 50*time.Millisecond)
		}
	}}
}

func (w *trainings) check(ctx context.Context, s *session, first bool) error {
	if first {
		if err := w.finish(ctx, s); err != nil {
			return err
		}
	}
	rows, err := s.read(ctx, modelHash)
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != w.hash {
		return fmt.Errorf("the model is %v, that of an undisturbed run is %s", rows, w.hash)
	}
	return nil
}

// finish waits for running jobs, and resumes one that failed.
func (w *trainings) finish(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		rows, err := s.read(ctx, "SELECT state, error_code, error FROM ml.training_jobs WHERE state <> 'done' AND job = (SELECT max(job) FROM ml.training_jobs)") // records of earlier ones stay for an hour
		if err != nil || len(rows) == 0 {
			return err
		}
		runs := false
		for _, r := range rows {
			if code, ok := r[1].(string); ok && len(code) > 1 && code[:2] == "XX" {
				return fmt.Errorf("a training ended with %s: %v", code, r[2])
			}
			runs = runs || r[0] != "failed" && r[0] != "cancelled"
		}
		if !runs {
			// It may have failed before its first checkpoint, or may not be resumable any more:
			// another training replaces it.
			if _, o := s.exec(ctx, "RESUME TRAINING nm_model"); o != acked {
				_, _ = s.exec(ctx, train)
			}
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("training jobs are left: %v", rows)
		}
		wait(ctx, 50*time.Millisecond)
	}
}

func (w *trainings) endRound() {}
