package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/model"
	mlrecord "github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// shelf stores models of some hundred kilobytes; to read one waits until gate is closed.
type shelf struct {
	versions []*catalog.ModelVersion
	gate     chan struct{} // nil: reading does not wait
	mu       sync.Mutex
	reads    int
}

func newShelf(t *testing.T, n int) *shelf {
	s := &shelf{}
	f, _, err := families.Find("linear_regression")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		const wide = 2000
		fit := &feature.Fitted{Label: mlrecord.Column{Name: "y", Type: types.Float8}, Dense: wide}
		for k := range wide {
			fit.Cols = append(fit.Cols, feature.FitCol{Column: mlrecord.Column{Name: fmt.Sprint("x", k), Type: types.Float8}, Encoder: feature.Standard,
				Center: []float64{float64(i)}, Scale: []float64{1}})
		}
		var e canon.E
		e.F64s(make([]float64, wide+1))
		p, err := f.Decode(fit, canon.Read(e.B))
		if err != nil {
			t.Fatal(err)
		}
		m := &model.Model{Algorithm: "linear_regression", Task: family.Regression, Outputs: []family.Output{{Type: types.Float8}}, Fitted: fit, Predictor: p}
		v := &catalog.ModelVersion{Number: i + 1}
		v.Keep(&catalog.Segment{Inline: m.Encode(), SHA256: sha256.Sum256(m.Encode())})
		s.versions = append(s.versions, v)
	}
	return s
}

func (s *shelf) read(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error {
	s.mu.Lock()
	s.reads++
	s.mu.Unlock()
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return use(bytes.Clone(ref.Inline))
}

// TestModelsInUseStay: when memory is needed, the cache evicts models that no statement uses, the
// least recently used first. A model for which there is no memory is an error, and what was charged
// for it is released.
func TestModelsInUseStay(t *testing.T) {
	ctx := context.Background()
	s := newShelf(t, 6)
	pool := mem.NewPool("n", 8<<20)
	m := newModels(pool, s.read)
	one := func() int64 {
		_, release, err := m.use(ctx, "m", s.versions[0])
		if err != nil {
			t.Fatal(err)
		}
		release()
		release() // the second call has no effect
		return m.idleBytes()
	}()
	if one < 300<<10 || one > 1<<20 {
		t.Fatalf("a model takes %d bytes", one)
	}
	statement := pool.Child("statement", 0)
	_, release, err := m.use(ctx, "m", s.versions[1])
	if err != nil {
		t.Fatal(err)
	}
	statement.OnClose(release)
	for _, v := range s.versions[2:4] {
		_, release, err := m.use(ctx, "m", v)
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	have := func() (out []int) {
		for i, v := range s.versions {
			if m.byKey[v.SHA256] != nil {
				out = append(out, i)
			}
		}
		return out
	}
	if got := fmt.Sprint(have()); got != "[0 1 2 3]" {
		t.Fatalf("models %s are kept", got)
	}
	_, touch, err := m.use(ctx, "m", s.versions[0])
	if err != nil {
		t.Fatal(err)
	}
	touch()
	acct := pool.Account("others", false)
	rest := int64(mem.FailShare*float64(pool.Limit())) - pool.Used()
	if err := acct.Grow(rest + one); err != nil || fmt.Sprint(have()) != "[0 1]" && fmt.Sprint(have()) != "[0 1 3]" {
		t.Fatalf("models %v are kept: %v", have(), err)
	}
	if err := acct.Grow(2*one - 256<<10); err != nil || fmt.Sprint(have()) != "[1]" {
		t.Fatalf("models %v are kept: %v", have(), err)
	}
	before := pool.Used()
	if _, _, err := m.use(ctx, "m", s.versions[5]); !pgerr.Is(err, pgerr.OutOfMemory) || pool.Used() != before {
		t.Fatalf("a model for which there is no room: %v; %d bytes, %d before", err, pool.Used(), before)
	}
	statement.Close()
	if _, release, err := m.use(ctx, "m", s.versions[5]); err != nil {
		t.Error(err)
	} else {
		release()
	}
	acct.Close()
	m.close()
	if len(m.byKey) != 0 || pool.Used() != 0 {
		t.Errorf("%d models and %d bytes are left", len(m.byKey), pool.Used())
	}
}

// TestPredictionsAreCharged: the memory of a batch's encoded rows is charged, once for several batches
// of the same size. A batch for which there is too little fails.
func TestPredictionsAreCharged(t *testing.T) {
	s := newShelf(t, 1)
	pool := mem.NewPool("n", 64<<20)
	m := newModels(pool, s.read)
	defer m.close()
	statement := pool.Child("statement", 0)
	one, release, err := m.use(context.Background(), "m", s.versions[0])
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	sc := &scorer{s: one.scorer, acct: statement.LastingAccount("prediction")}
	predict := func(n int) error {
		cols := make([]arrow.Array, 2000)
		for i := range cols {
			cols[i] = batch.FromSlice(arrow.PrimitiveTypes.Float64, make([]float64, n), nil)
		}
		_, err := sc.Score(context.Background(), []*expr.Predict{{}}, cols, n, false)
		return err
	}
	for range 3 {
		if err := predict(100); err != nil {
			t.Fatal(err)
		}
	}
	if used := statement.Used(); used < 100*2000*8 || used > 2*100*2000*8 {
		t.Errorf("%d bytes are charged", used)
	}
	if err := predict(5000); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Errorf("rows of 80 MB: %v", err)
	}
	if statement.Close() != 0 || statement.Used() != 0 {
		t.Errorf("%d bytes are left", statement.Used())
	}
}

// TestModelsAreReadOnce: of statements that need a model at the same time one reads it and the others
// wait. If that one is cancelled, another reads it: it is read twice at most.
func TestModelsAreReadOnce(t *testing.T) {
	s := newShelf(t, 1)
	s.gate = make(chan struct{})
	pool := mem.NewPool("n", 64<<20)
	m := newModels(pool, s.read)
	first, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		ctx := context.Background()
		if i == 0 {
			ctx = first
		}
		wg.Go(func() {
			_, release, err := m.use(ctx, "m", s.versions[0])
			if errs[i] = err; err == nil {
				release()
			}
		})
		if i == 0 { // this statement reads the model
			for reads := 0; reads == 0; {
				s.mu.Lock()
				reads = s.reads
				s.mu.Unlock()
			}
		}
	}
	cancel()
	close(s.gate)
	wg.Wait()
	if errs[0] != nil && !errors.Is(errs[0], context.Canceled) {
		t.Error(errs[0])
	}
	for _, err := range errs[1:] {
		if err != nil {
			t.Error(err)
		}
	}
	if s.reads > 2 {
		t.Errorf("%d reads", s.reads)
	}
	if got := m.cached(); m.byKey[s.versions[0].SHA256] == nil || got.Loads != int64(s.reads) {
		t.Errorf("%d loads of %d reads", got.Loads, s.reads)
	}
	m.close()
	if pool.Used() != 0 {
		t.Errorf("%d bytes are left", pool.Used())
	}
}

// TestModelsGoWhileOthersWait: an idle model is evicted when memory is needed, also while a statement
// is queued for admission.
func TestModelsGoWhileOthersWait(t *testing.T) {
	s := newShelf(t, 1)
	pool := mem.NewPool("n", 8<<20)
	m := newModels(pool, s.read)
	_, release, err := m.use(context.Background(), "m", s.versions[0])
	if err != nil {
		t.Fatal(err)
	}
	release()
	ctx, cancel := context.WithCancel(context.Background())
	holder, statement := pool.Child("holder", 0), pool.Child("statement", 0)
	held, ticket := holder.Ticket(1, 1), statement.Ticket(1, 1)
	held.Force() // otherwise the other statement would be admitted at once
	waited := make(chan error)
	acct := pool.Account("others", false)
	if err := acct.Grow(int64(mem.FailShare*float64(pool.Limit())) - pool.Used() - 64<<10); err != nil || m.idleBytes() == 0 {
		t.Fatal("the model has gone", err)
	}
	go func() { waited <- ticket.Wait(ctx) }()
	for pool.Admissions().Queued == 0 {
		runtime.Gosched()
	}
	if err := acct.Grow(256 << 10); err != nil || m.idleBytes() != 0 {
		t.Errorf("%d bytes are idle: %v", m.idleBytes(), err)
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ticket.Close()
	held.Close()
	statement.Close()
	holder.Close()
	acct.Close()
	if pool.Used() != 0 {
		t.Errorf("%d bytes are left", pool.Used())
	}
}
