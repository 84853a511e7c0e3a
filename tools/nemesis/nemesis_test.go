package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tributarydb/tributary/internal/process"
)

// TestRounds is a short run; long ones are started by the command.
func TestRounds(t *testing.T) {
	dir := t.TempDir()
	program, err := process.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Faults of the clock and of syncs need a program that is built for them; this one is built as for
	// all tests. Those of members, and of all nodes at once, are left to the long runs.
	faults := slices.DeleteFunc(Possible(), func(f string) bool {
		return slices.Contains([]string{"alone", "lose", "older", "clock", "sync", "member"}, f)
	})
	var out bytes.Buffer
	err = Run(context.Background(), Options{Program: program, Dir: filepath.Join(dir, "run"), Seed: 8, Rounds: 3, Nodes: 3, Fresh: 3, Stretch: 2, Verbose: true, Faults: faults}, &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

func TestPlans(t *testing.T) {
	seen := map[string]bool{}
	for round := range 2000 {
		p := makePlan(7, round, 3, Faults)
		if p.String() != makePlan(7, round, 3, Faults).String() {
			t.Fatalf("round %d has two plans", round)
		}
		for _, f := range p {
			seen[f.kind+" "+f.variant] = true
		}
		for i := range p {
			for k := range i {
				if !together(p[i].kind, p[k].kind) {
					t.Errorf("round %d: %s", round, p)
				}
			}
		}
	}
	for round := range 200 {
		for _, f := range makePlan(7, round, 1, Faults) {
			if f.kind == "flip" || f.kind == "member" {
				t.Errorf("round %d of one node: %s", round, f)
			}
		}
	}
	for _, k := range kinds {
		for _, v := range k.variants {
			if !seen[k.name+" "+v] {
				t.Errorf("%s %s is in no plan", k.name, v)
			}
		}
	}
}

// TestJudged: what was restored must have been there, of all schemas at one time, within the bounds.
func TestJudged(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	w := &schemas{known: []*history{
		{name: "a", states: []state{{absent, time.Time{}, time.Time{}}, {"a1", at(10), at(12)}, {"a2", at(20), at(22)}, {"a1", at(30), at(32)}}},
		{name: "b", states: []state{{absent, time.Time{}, time.Time{}}, {"b1", at(11), at(13)}, {"b2", at(21), at(23)}}, open: at(40)},
	}}
	for _, tc := range []struct {
		what     string
		ok       bool
		a, b     string
		from, to int
	}{
		{"the first", true, absent, absent, 0, 9},
		{"while both were made", true, "a1", absent, 11, 11},
		{"too early", false, "a1", absent, 0, 9},
		{"lost", false, absent, "b1", 14, 15},
		{"not at one time", false, "a2", absent, 0, 50},
		{"in between", true, "a1", "b1", 14, 19},
		{"either order", true, "a2", "b1", 20, 23},
		{"too many", false, "a2", "b1", 14, 19},
		{"again as it was", true, "a1", "b2", 31, 33},
		{"before it was so again", false, "a1", "b2", 24, 29},
		{"unknown since", true, "a1", "whatever", 41, 42},
		{"not yet unknown", false, "a1", "whatever", 33, 39},
		{"never", false, "x", "b1", 0, 50},
	} {
		err := w.judge(observation{what: tc.what, from: at(tc.from), to: at(tc.to), digests: map[string]string{"a": tc.a, "b": tc.b}})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.what, err)
		}
	}
}

// TestMesh: the proxy forwards bytes both ways, delays them while a direction is blocked, and can
// break connections.
func TestMesh(t *testing.T) {
	if !slices.Contains(Possible(), "partition") {
		t.Skip("senders cannot be known here")
	}
	echo, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	m, err := newMesh(2, func(node int) int { return []int{os.Getpid(), 0}[node] })
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	m.serve(1, echo.Addr().String())
	c, err := net.Dial("tcp4", m.addr(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 3)
	say := func() error {
		if _, err := c.Write([]byte("abc")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, b)
		return err
	}
	if err := say(); err != nil || string(b) != "abc" {
		t.Fatal(err, b)
	}
	for _, g := range []*gate{m.gates[0][1], m.gates[1][0]} {
		g.set(false, 0)
		got := make(chan error, 1)
		go func() { got <- say() }()
		shut := make(chan struct{})
		close(shut)
		if g.pass(shut) {
			t.Error("a shut gate lets pass")
		}
		select {
		case err := <-got:
			t.Error("bytes passed a shut gate", err)
		default:
		}
		g.set(true, 0)
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	m.reset()
	if _, err := c.Read(b); err == nil {
		t.Error("the connection outlived the mesh's end of it")
	}
}

// TestHistories: histories that a linearizable register cannot have, such as a stale read, are
// rejected, and the others accepted.
func TestHistories(t *testing.T) {
	op := func(call, ret int64, what string, old, value int64, out registerAnswer) porcupine.Operation {
		return porcupine.Operation{Input: registerOp{what: what, old: old, new: value}, Output: out, Call: call, Return: ret}
	}
	write := func(call, ret, v int64) porcupine.Operation { return op(call, ret, "write", 0, v, registerAnswer{}) }
	read := func(call, ret, v int64) porcupine.Operation {
		return op(call, ret, "read", 0, 0, registerAnswer{value: v})
	}
	lost := registerAnswer{unknown: true}
	for _, tc := range []struct {
		name string
		ok   bool
		h    []porcupine.Operation
	}{
		{"plain", true, []porcupine.Operation{read(1, 2, 0), write(3, 4, 1), read(5, 6, 1)}},
		{"stale read", false, []porcupine.Operation{write(1, 2, 1), read(3, 4, 0)}},
		{"lost write", false, []porcupine.Operation{write(1, 2, 1), write(3, 4, 2), read(5, 6, 1)}},
		{"applied twice", false, []porcupine.Operation{write(1, 9, 1), read(2, 3, 1), write(4, 5, 2), read(6, 7, 2), read(10, 11, 1)}},
		{"unknown, applied late", true, []porcupine.Operation{op(1, 1<<40, "write", 0, 1, lost), read(2, 3, 0), read(4, 5, 1)}},
		{"unknown, never", true, []porcupine.Operation{op(1, 1<<40, "cas", 0, 1, lost), read(2, 3, 0)}},
		{"cas of another value", false, []porcupine.Operation{op(1, 2, "cas", 5, 6, registerAnswer{done: true})}},
		{"cas that must have been", false, []porcupine.Operation{op(1, 2, "cas", 0, 6, registerAnswer{})}},
	} {
		if got := porcupine.CheckOperations((&registers{}).model(), tc.h); got != tc.ok {
			t.Errorf("%s: linearizable: %v", tc.name, got)
		}
	}
}
