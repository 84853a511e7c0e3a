package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// load are clients that write, read and train while nodes come and go. A statement may fail because its
// connection was closed; it is then repeated on another node. Any other error is a violation.
type load struct {
	nodes  []*node
	models []model // which are trained again and again

	stop       context.CancelFunc
	wg         sync.WaitGroup
	statements atomic.Int64
	lost       atomic.Int64 // connections
	trained    atomic.Int64

	mu   sync.Mutex
	errs []error
	rows []map[int64]int64 // by client, what it wrote
}

func startLoad(ctx context.Context, nodes []*node, clients int, models []model) *load {
	l := &load{nodes: nodes, models: models}
	ctx, l.stop = context.WithCancel(ctx)
	for i := range clients {
		l.rows = append(l.rows, map[int64]int64{})
		l.wg.Go(func() { l.report(l.write(ctx, i)) })
	}
	l.wg.Go(func() { l.report(l.train(ctx)) })
	return l
}

func (l *load) report(err error) {
	if err != nil {
		l.mu.Lock()
		l.errs = append(l.errs, err)
		l.mu.Unlock()
	}
}

// model is one of made.sql: the statement that trains it under the name walked, and its bytes.
type model struct{ again, sha string }

// progress waits until the clients have done some more, and each model was trained.
func (l *load) progress(ctx context.Context) error {
	statements, trained := l.statements.Load()+200, l.trained.Load()+int64(len(l.models))
	for until := time.Now().Add(patience); l.statements.Load() < statements || l.trained.Load() < trained; time.Sleep(20 * time.Millisecond) {
		if err := l.broken(); err != nil {
			return err
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return errors.New("the clients do not get on")
		}
	}
	return l.broken()
}

// broken returns what has gone wrong so far.
func (l *load) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

// end ends the clients, each after its statement.
func (l *load) end() error {
	l.stop()
	l.wg.Wait()
	return l.broken()
}

// client is a session that moves to another node when its connection is closed.
type client struct {
	l    *load
	conn *pgx.Conn
}

// do runs a statement until it is acknowledged.
func (c *client) do(sql string) (string, error) {
	for until := time.Now().Add(patience); ; {
		if time.Now().After(until) {
			return "", fmt.Errorf("no node has answered for %s: %s", patience, sql)
		}
		if c.conn == nil || c.conn.IsClosed() {
			conn, err := c.l.nodes[rand.IntN(len(c.l.nodes))].dial(context.Background())
			if err != nil {
				time.Sleep(50 * time.Millisecond) // the node is down
				continue
			}
			c.conn = conn
		}
		out, err := query(context.Background(), c.conn, sql)
		if err == nil {
			c.l.statements.Add(1)
			return out, nil
		}
		if !c.conn.IsClosed() {
			return "", fmt.Errorf("%s: %w", sql, err)
		}
		c.l.lost.Add(1)
	}
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close(context.Background())
	}
}

// write inserts and updates rows of its own, and reads them. A statement that is repeated does the same again.
func (l *load) write(ctx context.Context, me int) error {
	c := &client{l: l}
	defer c.close()
	rows, r := l.rows[me], rand.New(rand.NewPCG(uint64(me), 7))
	for n := 0; ctx.Err() == nil; n++ {
		if n%10 == 9 {
			sum := int64(0)
			for _, v := range rows {
				sum += v
			}
			want := fmt.Sprintf("%d|%d", len(rows), sum)
			got, err := c.do(fmt.Sprintf("select count(*), coalesce(sum(v), 0) from walk where client = %d", me))
			if err == nil && got != want {
				err = fmt.Errorf("client %d reads %s, and wrote %s", me, got, want)
			}
			if err != nil {
				return err
			}
			continue
		}
		id, v := int64(me)<<32|int64(len(rows)), r.Int64N(1<<40)
		sql := fmt.Sprintf("insert into walk values (%d, %d, %d) on conflict (id) do update set v = excluded.v", id, me, v)
		if n%3 == 2 {
			id = int64(me)<<32 | r.Int64N(int64(len(rows)))
			sql = fmt.Sprintf("update walk set v = %d where id = %d", v, id)
		}
		if _, err := c.do(sql); err != nil {
			return err
		}
		rows[id] = v
	}
	return nil
}

// train trains the models again, each in turn under another name: they have the same bytes each time.
func (l *load) train(ctx context.Context) error {
	c := &client{l: l}
	defer c.close()
	for i := 0; ctx.Err() == nil; i++ {
		m := l.models[i%len(l.models)]
		lost := l.lost.Load()
		_, err := c.do(m.again)
		if err != nil {
			if l.lost.Load() == lost {
				return err
			}
			// The training of the connection that was closed goes on without it.
			if err = c.idle("walked"); err != nil {
				return err
			}
			i--
			continue
		}
		sha, err := c.do("select sha256 from ml.models where name = 'walked'")
		if err == nil && sha != m.sha {
			err = fmt.Errorf("%s made %s, not %s", m.again, sha, m.sha)
		}
		if err != nil {
			return err
		}
		l.trained.Add(1)
	}
	return nil
}

// idle waits until no training of a model runs.
func (c *client) idle(model string) error {
	for {
		n, err := c.do("select count(*) from ml.training_jobs where state = 'running' and model = '" + model + "'")
		if err != nil || n == "0" {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
