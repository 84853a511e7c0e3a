package cursor

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// numbers returns 1 … n in batches of size rows, and an error at the end if err is set.
type numbers struct {
	n, at, size int
	fails       error
	closed      bool
}

func (s *numbers) Next(context.Context) (*batch.Batch, error) {
	if s.at == s.n {
		if s.fails != nil {
			return nil, s.fails
		}
		return nil, io.EOF
	}
	k := min(s.size, s.n-s.at)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for range k {
		s.at++
		b.Append(int64(s.at))
	}
	return batch.New([]arrow.Array{b.NewArray()}, k), nil
}

func (s *numbers) Close() error {
	s.closed = true
	return nil
}

// admission counts the cursors that hold it.
type admission struct{ held int }

func (a *admission) SkipQueue()           {}
func (a *admission) Rest()                { a.held-- }
func (a *admission) Resume()              { a.held++ }
func (a *admission) Place() (string, int) { return "", 0 }
func (a *admission) Close()               {}

func open(t *testing.T, o Options, src *numbers) *Cursor {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &query.Run{Pool: mem.NewPool("cursor", 0), Admission: &admission{held: 1}}
	c := New(o, x, ctx, cancel, t.TempDir())
	cols := []plan.Column{{ID: 1, Name: "n", Type: types.Int8}}
	if err := c.Open(context.Background(), func(context.Context) ([]plan.Column, op.BatchReader, error) { return cols, src, nil }); err != nil {
		t.Fatal(err)
	}
	return c
}

func fetch(c *Cursor, n *ast.FetchStmt) ([]int, error) {
	p, err := c.Fetch(context.Background(), n)
	if err != nil {
		return nil, err
	}
	count := p.Count()
	var out []int
	for {
		b, err := p.Next(context.Background())
		if err == io.EOF {
			if int64(len(out)) != count {
				return out, errors.New("the count is not that of the rows")
			}
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows() {
			row := i
			if b.Sel != nil {
				row = int(b.Sel[i])
			}
			out = append(out, int(b.Cols[0].(*array.Int64).Value(row)))
		}
	}
}

// model is a reference cursor that moves row by row.
type model struct{ pos, n int }

func (m *model) step(by int) (out []int) {
	m.pos = min(max(m.pos+by, 0), m.n+1)
	if m.pos >= 1 && m.pos <= m.n {
		out = append(out, m.pos)
	}
	return out
}

func (m *model) fetch(d ast.FetchDirection, k int64) (out []int) {
	switch d {
	case ast.FETCH_ABSOLUTE:
		if m.pos = 0; k < 0 {
			k += int64(m.n) + 1
		}
		return m.step(int(max(k, 0)))
	case ast.FETCH_RELATIVE:
		return m.step(int(k))
	case ast.FETCH_BACKWARD:
		k = -k
	}
	if k == 0 {
		return m.step(0)
	}
	by := 1
	if k < 0 {
		by, k = -1, -k
	}
	for ; k > 0; k-- {
		out = append(out, m.step(by)...)
		if m.pos == 0 || m.pos == m.n+1 {
			break
		}
	}
	return out
}

// TestFetchAtRandom compares scrollable cursors with the reference on random FETCHes.
func TestFetchAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := rng.IntN(40)
		src := &numbers{n: n, size: 1 + rng.IntN(9)}
		c := open(t, Options{Scroll: int8(rng.IntN(2))}, src)
		m := &model{n: n}
		for range 30 {
			s := &ast.FetchStmt{Direction: []ast.FetchDirection{ast.FETCH_FORWARD, ast.FETCH_BACKWARD, ast.FETCH_ABSOLUTE, ast.FETCH_RELATIVE}[rng.IntN(4)],
				HowMany: int64(rng.IntN(2*n+6) - n - 3)}
			if s.Direction <= ast.FETCH_BACKWARD && rng.IntN(6) == 0 {
				s.HowMany = ast.FETCH_ALL
			}
			if rng.IntN(10) == 0 { // spill the rows that were read
				if err := c.rows.flush(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			at := *m
			want := m.fetch(s.Direction, s.HowMany)
			got, err := fetch(c, s)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d rows, at %d: FETCH %v %d gives %v, not %v; %v", n, at.pos, s.Direction, s.HowMany, got, want, err)
			}
		}
		c.Close()
		if !src.closed {
			t.Fatal("the query is open")
		}
	}
}

// TestForwardOnly: a NO SCROLL cursor moves forward only, and keeps no rows that were fetched.
func TestForwardOnly(t *testing.T) {
	c := open(t, Options{Scroll: -1}, &numbers{n: 100, size: 7})
	defer c.Close()
	for i := range 30 {
		if got, err := fetch(c, &ast.FetchStmt{HowMany: 3}); err != nil || !slices.Equal(got, []int{3*i + 1, 3*i + 2, 3*i + 3}) {
			t.Fatal(got, err)
		}
		if len(c.rows.held) > 3 {
			t.Fatalf("%d batches are kept", len(c.rows.held))
		}
	}
	for _, s := range []*ast.FetchStmt{{Direction: ast.FETCH_BACKWARD, HowMany: 1}, {Direction: ast.FETCH_ABSOLUTE, HowMany: 1}, {Direction: ast.FETCH_ABSOLUTE, HowMany: -1}} {
		if _, err := fetch(c, s); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
			t.Error(err)
		}
	}
}

// TestAdmission: a cursor occupies its admission only while its query runs, not while its client does
// something else.
func TestAdmission(t *testing.T) {
	broken := pgerr.New(pgerr.DivisionByZero, "division by zero")
	c := open(t, Options{Hold: true}, &numbers{n: 10, size: 4, fails: broken})
	defer c.Close()
	a := c.admission.(*admission)
	if a.held != 0 {
		t.Error("after DECLARE")
	}
	if _, err := fetch(c, &ast.FetchStmt{HowMany: 5}); err != nil || a.held != 0 {
		t.Error(err, a.held)
	}
	if err := c.Materialize(); !errors.Is(err, broken) || a.held != 0 {
		t.Error(err, a.held)
	}
}
