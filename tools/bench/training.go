package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// training is a benchmark of one TRAIN statement with scikit-learn's settings on
// float4 columns. The time is the client's: the scan of the table, the
// iterations, the metrics and the commit of the model.
type training struct {
	suite, name string
	table       string
	generator   string // with the rows, features and informative features for %d
	target      string // its type, of four bytes
	descr       string // the same in NumPy's words
	statement   func(o *Options) string
	lossShare   bool  // the tolerance is a share of the loss
	factor      int64 // of the rows asked for
}

// lossTolerance is how far a mean loss may be from the peer's.
const lossTolerance = 1e-6

var logistic = training{suite: "logistic", name: "lbfgs", table: "bench_classification", target: "integer", descr: "<i4", factor: 1,
	generator: "make_classification(n_samples => %d, n_features => %d, n_informative => %d, n_redundant => 0, random_state => 42)",
	statement: func(o *Options) string {
		return fmt.Sprintf("logistic_regression PREDICT y WITH (optimizer = 'lbfgs', c = %v, standardize = false, tolerance = 1e-6, max_iterations = 1000)", o.C)
	}}

// ridge has five times the requested rows, and fewer features.
var ridge = training{suite: "ridge", name: "cholesky", table: "bench_regression", target: "real", descr: "<f4", lossShare: true, factor: 5,
	generator: "make_regression(n_samples => %d, n_features => %d, n_informative => %d, noise => 10, random_state => 42)",
	statement: func(*Options) string { return "ridge PREDICT y WITH (alpha = 1, standardize = false)" }}

func (b *run) logistic(ctx context.Context) error { return b.train(ctx, logistic, b.o.Features) }

func (b *run) ridge(ctx context.Context) error { return b.train(ctx, ridge, max(1, b.o.Features*5/7)) }

// train runs a training.
func (b *run) train(ctx context.Context, k training, features int) error {
	rows := k.factor * b.o.Samples
	if err := b.trainingReady(ctx, k, rows, features); err != nil {
		return err
	}
	if b.o.Export != "" {
		if err := b.trainingExport(ctx, k, rows, features); err != nil {
			return err
		}
	}
	if b.o.LoadOnly {
		return nil
	}
	sql := fmt.Sprintf("TRAIN OR REPLACE MODEL bench_%s USING %s AS SELECT * FROM %s", k.suite, k.statement(&b.o), k.table)
	r, err := b.timeTraining(ctx, k.suite, k.name, sql)
	if err != nil {
		return err
	}
	r.Rows = int(rows)
	loss, err := strconv.ParseFloat(r.Values["train_loss"], 64)
	if err != nil {
		return fmt.Errorf("train_loss %q: %w", r.Values["train_loss"], err)
	}
	if err := b.trainingCheck(&r, k, loss); err != nil {
		return err
	}
	b.add(r)
	b.say("\n%s iterations, %s s each, mean loss %s", r.Values["iterations"], r.Values["seconds_per_iteration"], r.Values["train_loss"])
	return nil
}

// timeTraining runs a TRAIN statement once cold and then --runs times. Every run must
// end with the same loss, and reads the rows: peers do so too.
func (b *run) timeTraining(ctx context.Context, suite, name, sql string) (report, error) {
	r := report{Suite: suite, Name: name}
	if err := b.exec(ctx, "SET tributary.keep_datasets = off"); err != nil {
		return r, err
	}
	var hot, cpu []float64
	for i := range b.o.Runs + 1 {
		c0, start := b.cpuTime(), time.Now()
		a, err := b.query(ctx, sql)
		if err != nil {
			return r, err
		}
		took, spent := time.Since(start).Seconds(), b.cpuTime()-c0
		if len(a.rows) != 1 {
			return r, fmt.Errorf("TRAIN answered %d rows, want 1", len(a.rows))
		}
		got := map[string]string{}
		for j, h := range a.head {
			got[h] = a.rows[0][j].text
		}
		if i == 0 {
			r.Cold = took
			r.Values = map[string]string{"train_loss": got["train_loss"], "iterations": got["iterations"]}
			continue
		}
		hot, cpu = append(hot, took), append(cpu, spent)
		if got["train_loss"] != r.Values["train_loss"] {
			r.Error = fmt.Sprintf("run %d ended with loss %s, the first with %s", i, got["train_loss"], r.Values["train_loss"])
		}
	}
	slices.Sort(hot)
	slices.Sort(cpu)
	r.Min, r.Median, r.Max, r.CPU = hot[0], median(hot), hot[len(hot)-1], median(cpu)
	if n, err := strconv.Atoi(r.Values["iterations"]); err == nil && n > 0 {
		r.Values["seconds_per_iteration"] = strconv.FormatFloat(r.Median/float64(n), 'f', 6, 64)
	}
	return r, nil
}

// trainingCheck compares the loss with the peer's, which is the only value of a csv
// file with a header.
func (b *run) trainingCheck(r *report, k training, loss float64) error {
	if b.o.Check == "" {
		return nil
	}
	want, err := readAnswer(b.o.Check, k.suite)
	if errors.Is(err, os.ErrNotExist) {
		r.Check = "no answer to compare with"
		return nil
	}
	if err != nil {
		return err
	}
	if len(want.rows) != 1 || len(want.rows[0]) != 1 {
		return fmt.Errorf("%s.csv: one row with one number is wanted", k.suite)
	}
	peer, err := strconv.ParseFloat(want.rows[0][0].text, 64)
	if err != nil {
		return err
	}
	tolerance := lossTolerance
	if k.lossShare {
		tolerance *= peer
	}
	r.Values["peer_loss"], r.Check = want.rows[0][0].text, checkOK
	if d := math.Abs(loss - peer); !(d <= tolerance) {
		r.Check = fmt.Sprintf("loss %v, want %v", loss, peer)
	}
	return nil
}

func (b *run) trainingReady(ctx context.Context, k training, rows int64, features int) error {
	if there, err := b.rowsThere(ctx, k.table, rows); there || err != nil {
		return err
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS "+k.table); err != nil {
		return err
	}
	var cols []string
	for i := range features {
		cols = append(cols, fmt.Sprintf("x%d::real AS x%d", i, i))
	}
	start := time.Now()
	err := b.exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT %s, y::%s AS y FROM "+k.generator, k.table, strings.Join(cols, ", "), k.target,
		rows, features, max(1, features*3/4)))
	if err == nil {
		b.say("made %s of %d × %d in %.2f s", k.table, rows, features, time.Since(start).Seconds())
	}
	return err
}

// trainingExport writes the training rows for the peer, as NumPy files: SUITE-x.npy
// (rows × features, float32) and SUITE-y.npy (rows).
func (b *run) trainingExport(ctx context.Context, k training, rows int64, features int) (err error) {
	if err := os.MkdirAll(b.o.Export, 0o755); err != nil {
		return err
	}
	x, err := createNpy(filepath.Join(b.o.Export, k.suite+"-x.npy"), fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, features))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	y, err := createNpy(filepath.Join(b.o.Export, k.suite+"-y.npy"), fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", k.descr, rows))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.close()) }()
	// The binary format gives every cell as its four bytes in network order.
	res := b.conn.PgConn().ExecParams(ctx, "SELECT * FROM "+k.table, nil, nil, nil, []int16{1})
	n, err := copyCells(res, x.w, y.w)
	_, cerr := res.Close()
	if err = errors.Join(err, cerr); err == nil && n != rows {
		err = fmt.Errorf("read %d rows of %d", n, rows)
	}
	return err
}

func copyCells(res *pgconn.ResultReader, x, y io.Writer) (rows int64, err error) {
	var swapped [4]byte
	for res.NextRow() {
		vals := res.Values()
		for i, v := range vals {
			if len(v) != 4 {
				return rows, fmt.Errorf("column %d has %d bytes, want 4", i+1, len(v))
			}
			to := x
			if i == len(vals)-1 {
				to = y
			}
			binary.LittleEndian.PutUint32(swapped[:], binary.BigEndian.Uint32(v))
			if _, err := to.Write(swapped[:]); err != nil {
				return rows, err
			}
		}
		rows++
	}
	return rows, nil
}

// npy is a file in NumPy's format 1.0.
type npy struct {
	f *os.File
	w *bufio.Writer
}

func createNpy(path, head string) (*npy, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	// Magic, version and length take 10 bytes; the whole is a multiple of 64
	// and ends in a newline.
	pad := 64 - (10+len(head)+1)%64
	head += strings.Repeat(" ", pad) + "\n"
	n := &npy{f, bufio.NewWriterSize(f, 1<<18)}
	_, err = fmt.Fprintf(n.w, "%s", []byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(head)), byte(len(head) >> 8)})
	if err == nil {
		_, err = n.w.WriteString(head)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return n, nil
}

func (n *npy) close() error { return errors.Join(n.w.Flush(), n.f.Close()) }
