package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// registers reads, writes and compares-and-sets numbers by key, each in its own
// statement; the history of every key must be linearizable (Herlihy and Wing 1990),
// which porcupine checks.
type registers struct {
	mu      sync.Mutex
	next    int64
	began   time.Time
	history []porcupine.Operation
	initial [keys]int64
	round   int64
}

// keys are those of several rounds: the history of one is short, and so is the search
// for a linearization.
const (
	keys      = roundKeys * maxStretch
	roundKeys = 3
)

// registerOp is a client's operation.
type registerOp struct {
	key      int64
	what     string // read, write, cas
	old, new int64
}

// registerAnswer is its result: the value of a read, whether a cas succeeded, nothing
// if the outcome is unknown.
type registerAnswer struct {
	unknown bool
	value   int64
	done    bool
}

func (w *registers) name() string { return "registers" }

func (w *registers) setup(ctx context.Context, s *session) error {
	w.began = time.Now()
	return setupAll(ctx, s, "CREATE TABLE nm_registers (k int4 PRIMARY KEY, v int8)",
		fmt.Sprintf("INSERT INTO nm_registers SELECT g, 0 FROM generate_series(0, %d) g", keys-1))
}

func (w *registers) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){w.run(0), w.run(1), w.run(2)}
}

// turn makes clients move on to other keys.
func (w *registers) turn() {
	w.mu.Lock()
	w.round++
	w.mu.Unlock()
}

func (w *registers) run(client int) func(context.Context, *session) {
	return func(ctx context.Context, s *session) {
		op := context.WithoutCancel(ctx)
		seen := make([]int64, keys)
		for ctx.Err() == nil {
			in := registerOp{key: s.r.Int64N(roundKeys)}
			w.mu.Lock()
			w.next++
			in.new = w.next
			in.key += w.round % maxStretch * roundKeys
			w.mu.Unlock()
			var out registerAnswer
			o, call := refused, time.Since(w.began)
			switch s.r.IntN(3) {
			case 0:
				in.what = "read"
				rows, err := s.try(op, "SELECT v FROM nm_registers WHERE k = $1", in.key)
				if o = s.judge(err, false); o == acked {
					if len(rows) != 1 {
						s.c.report("registers: key %d is there %d times", in.key, len(rows))
						continue
					}
					out.value = number(rows[0][0])
					seen[in.key] = out.value
				}
				s.t.add(s.name, o)
			case 1:
				in.what = "write"
				_, o = s.exec(op, "UPDATE nm_registers SET v = $2 WHERE k = $1", in.key, in.new)
			case 2:
				in.what, in.old = "cas", seen[in.key]
				tag, how := s.exec(op, "UPDATE nm_registers SET v = $3 WHERE k = $1 AND v = $2", in.key, in.old, in.new)
				o, out.done = how, tag.RowsAffected() == 1
			}
			if o == refused {
				wait(ctx, time.Millisecond)
				continue
			}
			done := time.Since(w.began)
			if o == unknown {
				out, done = registerAnswer{unknown: true}, math.MaxInt64
			}
			w.mu.Lock()
			w.history = append(w.history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(call), Return: int64(done)})
			w.mu.Unlock()
		}
	}
}

// model returns porcupine's model of a register, whose state is its value.
func (w *registers) model() porcupine.Model {
	return porcupine.Model{
		Partition: func(h []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, keys)
			for _, o := range h {
				k := o.Input.(registerOp).key
				parts[k] = append(parts[k], o)
			}
			return parts
		},
		Init: func() any { return int64(-1) },
		Step: func(state, input, output any) (bool, any) {
			v, in, out := state.(int64), input.(registerOp), output.(registerAnswer)
			if v < 0 { // the first of its key
				v = w.initial[in.key]
			}
			switch in.what {
			case "read":
				return out.value == v, v
			case "write":
				return true, in.new
			}
			if out.unknown {
				if v == in.old {
					v = in.new
				}
				return true, v
			}
			if out.done != (v == in.old) {
				return false, v
			}
			if out.done {
				v = in.new
			}
			return true, v
		},
		DescribeOperation: func(input, output any) string {
			in, out := input.(registerOp), output.(registerAnswer)
			switch {
			case in.what == "read":
				return fmt.Sprintf("read %d", out.value)
			case in.what == "write":
				return fmt.Sprintf("write %d", in.new)
			}
			return fmt.Sprintf("%d to %d: %v", in.old, in.new, out.done)
		},
	}
}

func (w *registers) check(ctx context.Context, s *session, first bool) error {
	call := time.Since(w.began)
	rows, err := s.read(ctx, "SELECT k, v FROM nm_registers ORDER BY k")
	if err != nil {
		return err
	}
	if len(rows) != keys {
		return fmt.Errorf("%d registers are there, not %d", len(rows), keys)
	}
	for _, r := range rows {
		w.history = append(w.history, porcupine.Operation{ClientId: 3 + s.fixed, Input: registerOp{key: number(r[0]), what: "read"},
			Output: registerAnswer{value: number(r[1])}, Call: int64(call), Return: int64(time.Since(w.began))})
	}
	if s.fixed < len(s.c.nodes)-1 {
		return nil // the last node's reads end the history
	}
	result, info := porcupine.CheckOperationsVerbose(w.model(), w.history, 10*time.Second)
	if result == porcupine.Illegal {
		path := s.c.dir + "-registers.html"
		if err := porcupine.VisualizePath(w.model(), info, path); err != nil {
			path = err.Error()
		}
		return fmt.Errorf("the history of %d operations is not linearizable: %s", len(w.history), path)
	}
	return nil
}

func (w *registers) endRound() {
	// The last operations are those of the checks.
	for _, o := range w.history[len(w.history)-keys:] {
		w.initial[o.Input.(registerOp).key] = o.Output.(registerAnswer).value
	}
	w.history = w.history[:0]
}
