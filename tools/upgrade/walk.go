package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/tools/release"
)

//go:embed made.sql
var made string

//go:embed checks.sql
var checks string

// longTraining runs while nodes are exchanged, and is continued by others from its checkpoints.
const longTraining = `train model long using mlp predict y with (hidden_units = [16], max_iterations = 4000, checkpoint_every = 50)
	as select * from make_classification(n_samples => 4000, n_features => 6, n_informative => 4, n_redundant => 0, random_state => 3)`

// clients is how many clients write.
const clients = 4

// walk is one walk of a cluster between two programs.
type walk struct {
	older, newer, dir string
	nodes             []*node
	// want are the answers to the checks, which nothing may change, and long the bytes of the long training.
	want []string
	long string
}

func (w *walk) close() {
	_ = each(w.nodes, func(n *node) error { return n.leave(context.Background(), true) })
}

func (w *walk) run(ctx context.Context) error {
	var err error
	if w.nodes, err = newNodes(w.dir, 3); err != nil {
		return err
	}
	for i, n := range w.nodes {
		var join []string
		if i > 0 {
			join = []string{"--join", w.nodes[0].cluster, "--join-secret", filepath.Join(w.nodes[0].data, "cluster-secret")}
		}
		if err := n.start(ctx, w.older, join...); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"every kind of object is made by the program before", w.make},
		{"the directories are copied as that program left them", w.copy},
		{"forward, node after node", w.pass(w.newer, true)},
		{"back", w.pass(w.older, false)},
		{"forward again", w.pass(w.newer, false)},
		{"finalised", w.finalize},
		{"the program before refuses the finalised directories", w.refused},
		{"the new program alone opens the copies", w.alone},
		{"it restores a backup of the program before", w.restored},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		say("%s", step.what)
	}
	return nil
}

// make makes the objects, and records what they answer.
func (w *walk) make(ctx context.Context) error {
	c, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	statements := append(strings.SplitAfter(made, ";\n"),
		"create table walk (id int8 primary key, client int, v int8)", longTraining)
	for _, sql := range statements {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		if _, err := query(ctx, c, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	for sql := range strings.Lines(checks) {
		got, err := query(ctx, c, sql)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		w.want = append(w.want, got)
	}
	if n := len(w.models()); n < 20 {
		return fmt.Errorf("only %d models are trained", n)
	}
	if missing := w.want[len(w.want)-1]; missing != "" {
		return fmt.Errorf("made.sql has no model of %s", strings.ReplaceAll(missing, "\n", ", "))
	}
	if w.long, err = query(ctx, c, "select sha256 from ml.models where name = 'long'"); err != nil {
		return err
	}
	if _, err = query(ctx, c, "drop model long"); err != nil {
		return err
	}
	if _, err = query(ctx, c, "backup to '"+filepath.Join(w.dir, "backup")+"'"); err != nil {
		return err
	}
	// A training that is killed with its node lies in the directories with its checkpoints.
	return w.hold(ctx)
}

// restored makes a cluster of one from the backup.
func (w *walk) restored(ctx context.Context) error {
	w.close()
	n := w.nodes[0]
	n.data = filepath.Join(w.dir, "restored")
	w.nodes = w.nodes[:1]
	if _, err := release.Output(ctx, "", w.newer, "restore", "--from", filepath.Join(w.dir, "backup"), "--data", n.data); err != nil {
		return err
	}
	if err := n.start(ctx, w.newer); err != nil {
		return err
	}
	return w.check(ctx)
}

// hold begins the long training and waits for its first checkpoint. Its connection is closed by the stop
// that follows.
func (w *walk) hold(ctx context.Context) error {
	c, err := w.nodes[1].dial(ctx)
	if err != nil {
		return err
	}
	go func() {
		_, _ = query(ctx, c, longTraining)
		c.Close(context.Background())
	}()
	watch, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer watch.Close(ctx)
	for range 400 {
		epoch, err := query(ctx, watch, "select coalesce(max(iterations), 0) > 100 from ml.training_jobs where model = 'long' and state = 'running'")
		if err != nil {
			return err
		}
		if epoch == "t" {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the long training does not begin")
}

// copy stops the nodes, copies their directories, and starts them again.
func (w *walk) copy(ctx context.Context) error {
	if err := each(w.nodes, func(n *node) error { return n.leave(ctx, true) }); err != nil {
		return err
	}
	for _, n := range w.nodes {
		if err := os.CopyFS(n.data+".copy", os.DirFS(n.data)); err != nil {
			return err
		}
	}
	return each(w.nodes, func(n *node) error { return n.start(ctx, w.older) })
}

// pass exchanges the program of all nodes, one after the other, under load. With kill the last one is killed
// instead of stopped.
func (w *walk) pass(program string, kill bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := w.truncate(ctx); err != nil {
			return err
		}
		l := startLoad(ctx, w.nodes, clients, w.models())
		err := func() error {
			for i, n := range w.nodes {
				if err := n.leave(ctx, kill && i == len(w.nodes)-1); err != nil {
					return err
				}
				if err := n.start(ctx, program); err != nil {
					return err
				}
				if err := errors.Join(w.settled(ctx), l.progress(ctx)); err != nil {
					return err
				}
				if kill && i == 0 {
					if err := w.early(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		}()
		if err = errors.Join(err, l.end()); err != nil {
			return err
		}
		say("%d statements, %d connections lost, %d models trained", l.statements.Load(), l.lost.Load(), l.trained.Load())
		return errors.Join(w.written(ctx, l), w.check(ctx))
	}
}

// early expects that nobody can finalise while nodes run the program before.
func (w *walk) early(ctx context.Context) error {
	c, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = query(ctx, c, "alter system finalize upgrade")
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != "55000" || !strings.Contains(said.Detail, "n2") {
		return fmt.Errorf("it could be finalised with nodes of the program before: %v", err)
	}
	return nil
}

// models returns the models that made.sql trains once.
func (w *walk) models() (out []model) {
	for sql := range strings.Lines(made) {
		rest, ok := strings.CutPrefix(sql, "train model ")
		name, rest, _ := strings.Cut(rest, " ")
		if !ok {
			continue
		}
		for line := range strings.SplitSeq(strings.Join(w.want, "\n"), "\n") {
			if f := strings.Split(line, "|"); len(f) == 4 && f[0] == name && f[1] == "1" && len(f[3]) == 64 {
				out = append(out, model{again: "train or replace model walked " + rest, sha: f[3]})
			}
		}
	}
	return out
}

func (w *walk) truncate(ctx context.Context) error {
	c, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = query(ctx, c, "truncate walk")
	return err
}

// settled waits until all nodes are members that answer: an operator goes on then.
func (w *walk) settled(ctx context.Context) error {
	c, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for range 600 {
		up, err := query(ctx, c, "select count(*) filter (where state = 'ready') = 3 and count(*) filter (where votes) = 3 from cluster.nodes")
		if err != nil || up == "t" {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the nodes do not come together")
}

// written compares the rows with what the clients were told is there.
func (w *walk) written(ctx context.Context, l *load) error {
	return each(w.nodes, func(n *node) error {
		c, err := n.dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		got, err := query(ctx, c, "select id, v from walk order by id")
		if err != nil {
			return err
		}
		var want []string
		for me := range l.rows {
			for i := range int64(len(l.rows[me])) {
				id := int64(me)<<32 | i
				want = append(want, fmt.Sprintf("%d|%d", id, l.rows[me][id]))
			}
		}
		if got != strings.Join(want, "\n") {
			return fmt.Errorf("%s does not have the %d rows of the clients' history", n.name, len(want))
		}
		return nil
	})
}

// check asks all nodes for everything that was made.
func (w *walk) check(ctx context.Context) error {
	return each(w.nodes, func(n *node) error {
		c, err := n.dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		i := 0
		for sql := range strings.Lines(checks) {
			got, err := query(ctx, c, sql)
			if err == nil && got != w.want[i] && i < len(w.want)-1 {
				err = fmt.Errorf("it was\n%s\nand is\n%s", w.want[i], got)
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", n.name, strings.TrimSpace(sql), err)
			}
			i++
		}
		return nil
	})
}

// trained waits until the long training has ended, and compares its model.
func (w *walk) trained(ctx context.Context) error {
	c, err := w.nodes[0].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for range 1200 {
		sha, err := query(ctx, c, "select sha256 from ml.models where name = 'long'")
		switch {
		case err != nil:
			return err
		case sha == w.long:
			return nil
		case sha != "":
			return fmt.Errorf("the model of the long training is %s, not %s", sha, w.long)
		}
		time.Sleep(50 * time.Millisecond)
	}
	jobs, _ := query(ctx, c, "select model, state, iterations, error from ml.training_jobs")
	return fmt.Errorf("the long training does not end: %s", jobs)
}

func (w *walk) finalize(ctx context.Context) error {
	if err := w.trained(ctx); err != nil {
		return err
	}
	c, err := w.nodes[2].dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := query(ctx, c, "alter system finalize upgrade"); err != nil {
		return err
	}
	if state, err := query(ctx, c, "select state from cluster.version"); err != nil || state != "finalized" {
		return fmt.Errorf("the cluster is %s: %w", state, err)
	}
	return w.check(ctx)
}

// refused stops the nodes, and starts the program before on one of them, which must say why it does not.
func (w *walk) refused(ctx context.Context) error {
	if err := each(w.nodes, func(n *node) error { return n.leave(ctx, false) }); err != nil {
		return err
	}
	err := w.nodes[0].start(ctx, w.older)
	if err == nil || !strings.Contains(err.Error(), "data directory") {
		return fmt.Errorf("it said: %v", err)
	}
	return nil
}

// alone opens the copies with the new program only.
func (w *walk) alone(ctx context.Context) error {
	for _, n := range w.nodes {
		n.data += ".copy"
	}
	if err := each(w.nodes, func(n *node) error { return n.start(ctx, w.newer) }); err != nil {
		return err
	}
	if err := w.trained(ctx); err != nil {
		return err
	}
	return w.check(ctx)
}
