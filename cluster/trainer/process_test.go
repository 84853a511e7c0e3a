package trainer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// nodeVar is an environment variable with a node's number: the test binary then runs as that node.
const nodeVar = "TRIBUTARY_TEST_NODE"

// remote is a node in its own process, so that it can use other kernels than this process: these are
// chosen when a process starts.
type remote struct {
	id    uint64
	in    *json.Encoder
	out   *json.Decoder
	level string
}

// The messages with a remote node. It first sends its address and the name of its kernels, then for
// each share of rows that it receives an error or none.
type (
	shareMsg struct {
		Addr    map[uint64]string // in the first message
		Group   string
		Members []uint64
		Proof   int
		Seed    uint64
	}
	saysMsg struct {
		Addr, Level, Error string
	}
)

// startMixed starts three nodes: one uses the best kernels of this machine, one those without the
// widest registers, and one those in plain Go.
func startMixed(t *testing.T) *cluster {
	t.Helper()
	c := start(t, 1, 0)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, without := range []string{"cpu.avx512f=off", "cpu.avx2=off,cpu.avx512f=off"} {
		r := &remote{id: uint64(i + 2)}
		cmd := exec.Command(program, "-test.run=^$")
		cmd.Env = append(os.Environ(), fmt.Sprint(nodeVar, "=", r.id), "GODEBUG="+without)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("node %d: %v", r.id, err)
			}
		})
		r.in, r.out = json.NewEncoder(in), json.NewDecoder(out)
		says := r.hear(t)
		r.level = says.Level
		c.addr[r.id] = says.Addr
		c.remote = append(c.remote, r)
	}
	for _, r := range c.remote {
		r.tell(t, shareMsg{Addr: c.addr})
	}
	t.Logf("kernels: %s, %s and %s", f64.Level, c.remote[0].level, c.remote[1].level)
	if runtime.GOARCH == "amd64" && c.remote[1].level != "go" {
		t.Errorf("a node without vectors has kernels of %s", c.remote[1].level)
	}
	return c
}

func (r *remote) hear(t *testing.T) (m saysMsg) {
	t.Helper()
	if err := r.out.Decode(&m); err != nil {
		t.Fatalf("node %d: %v", r.id, err)
	}
	return m
}

func (r *remote) tell(t *testing.T, m shareMsg) {
	t.Helper()
	if err := r.in.Encode(m); err != nil {
		t.Fatalf("node %d: %v", r.id, err)
	}
	if says := r.hear(t); says.Error != "" {
		t.Fatalf("node %d: %s", r.id, says.Error)
	}
}

// spread makes the node add its share of the rows.
func (r *remote) spread(t *testing.T, g *trainer.Group, p *proof, seed uint64) {
	t.Helper()
	at := 0
	for p != &proofs[at] {
		at++
	}
	r.tell(t, shareMsg{Group: g.Name(), Members: g.Members(), Proof: at, Seed: seed})
}

// beNode runs this process as a remote node until its input ends.
func beNode(id uint64) error {
	addr := map[uint64]string{}
	n, err := newNode(id, 0, os.TempDir(), func(id uint64) (string, bool) { a, ok := addr[id]; return a, ok }, func(uint64) bool { return true }, func() <-chan struct{} { return nil })
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	if err := out.Encode(saysMsg{Addr: n.addr, Level: f64.Level}); err != nil {
		return err
	}
	for {
		var m shareMsg
		if err := in.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		var says saysMsg
		if m.Addr != nil {
			addr = m.Addr
			n.srv.Serve()
		} else if err := n.share(m); err != nil {
			says.Error = err.Error()
		}
		if err := out.Encode(says); err != nil {
			return err
		}
	}
	n.kill()
	if used := n.pool.Used(); used != 0 {
		return fmt.Errorf("%d bytes are still charged", used)
	}
	return nil
}

// share adds this node's share of a proof's rows.
func (n *node) share(m shareMsg) error {
	return distribute(proofs[m.Proof].data(m.Seed), m.Members, m.Seed, func(id uint64, b *batch.Batch) error {
		if id != n.id {
			return nil
		}
		p, err := n.tr.Collector(m.Group)
		if err != nil {
			return err
		}
		return p.Add(context.Background(), b)
	})
}
