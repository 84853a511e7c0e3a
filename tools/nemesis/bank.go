package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// bank moves money between accounts and records each transfer in a ledger: every reader
// sees the same total at any time; in the end every acknowledged transfer is in the
// ledger and in the balances exactly once.
type bank struct {
	mu        sync.Mutex
	next      int64
	transfers map[int64]*transfer
	past      [accounts]int64 // balances by transfers of earlier rounds
	upto      int64
	noted     int64 // transfers of earlier rounds
}

type transfer struct {
	from, to, amount int64
	o                outcome
}

const (
	accounts = 8
	opening  = 1000
)

func (w *bank) name() string { return "bank" }

func (w *bank) setup(ctx context.Context, s *session) error {
	w.transfers = map[int64]*transfer{}
	for i := range w.past {
		w.past[i] = opening
	}
	return setupAll(ctx, s, "CREATE TABLE nm_accounts (id int4 PRIMARY KEY, balance int8 NOT NULL)", "CREATE TABLE nm_ledger (id int8, a int4, b int4, amount int8)",
		fmt.Sprintf("INSERT INTO nm_accounts SELECT g, %d FROM generate_series(0, %d) g", opening, accounts-1))
}

func (w *bank) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){w.pay, w.pay, w.look}
}

func (w *bank) pay(ctx context.Context, s *session) {
	op := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		w.mu.Lock()
		w.next++
		id := w.next
		w.mu.Unlock()
		from := s.r.Int64N(accounts)
		t := &transfer{from: from, to: (from + 1 + s.r.Int64N(accounts-1)) % accounts, amount: 1 + s.r.Int64N(20)}
		begin := []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL READ COMMITTED"}[s.r.IntN(2)]
		readsFirst := begin == "BEGIN ISOLATION LEVEL REPEATABLE READ" && s.r.IntN(2) == 0
		t.o = s.tx(op, begin, func(ctx context.Context, conn *pgx.Conn) error {
			do := func(sql string, args ...any) error {
				_, err := conn.Exec(ctx, sql, args...)
				return err
			}
			if readsFirst { // makes a lost update visible
				var a, b int64
				if err := conn.QueryRow(ctx, "SELECT x.balance, y.balance FROM nm_accounts x, nm_accounts y WHERE x.id = $1 AND y.id = $2", t.from, t.to).Scan(&a, &b); err != nil {
					return err
				}
				if err := do("UPDATE nm_accounts SET balance = $2 WHERE id = $1", t.from, a-t.amount); err != nil {
					return err
				}
				if err := do("UPDATE nm_accounts SET balance = $2 WHERE id = $1", t.to, b+t.amount); err != nil {
					return err
				}
			} else {
				if err := do("UPDATE nm_accounts SET balance = balance - $2 WHERE id = $1", t.from, t.amount); err != nil {
					return err
				}
				if err := do("UPDATE nm_accounts SET balance = balance + $2 WHERE id = $1", t.to, t.amount); err != nil {
					return err
				}
			}
			return do("INSERT INTO nm_ledger VALUES ($1, $2, $3, $4)", id, t.from, t.to, t.amount)
		})
		w.mu.Lock()
		w.transfers[id] = t
		w.mu.Unlock()
	}
}

// look reads the total, sometimes twice in a transaction, and sometimes together with
// the ledger.
func (w *bank) look(ctx context.Context, s *session) {
	const total = "SELECT count(*), sum(balance)::int8 FROM nm_accounts"
	op := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		if s.r.IntN(2) == 0 {
			if rows, err := s.try(op, total); err != nil {
				s.judge(err, false)
				s.lost(ctx)
			} else if c, sum := number(rows[0][0]), number(rows[0][1]); c != accounts || sum != accounts*opening {
				s.c.report("bank: %d accounts hold %d", c, sum)
			}
			continue
		}
		s.tx(op, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", func(ctx context.Context, conn *pgx.Conn) error {
			const balance = "SELECT balance FROM nm_accounts WHERE id = 0"
			const noted = "SELECT 1000 + coalesce(sum(CASE WHEN a = 0 THEN -amount ELSE amount END), 0)::int8 FROM nm_ledger WHERE a = 0 OR b = 0"
			var a, b, c int64
			if err := conn.QueryRow(ctx, balance).Scan(&a); err != nil {
				return err
			}
			if err := conn.QueryRow(ctx, noted).Scan(&b); err != nil {
				return err
			}
			if err := conn.QueryRow(ctx, balance).Scan(&c); err != nil {
				return err
			}
			if a != b || a != c {
				s.c.report("bank: in one snapshot an account holds %d, then %d, and the ledger says %d", a, c, b)
			}
			return nil
		})
	}
}

func (w *bank) check(ctx context.Context, s *session, first bool) error {
	rows, err := s.read(ctx, "SELECT id FROM nm_ledger WHERE id > $1", w.upto)
	if err != nil {
		return err
	}
	there := map[int64]int{}
	for _, r := range rows {
		there[number(r[0])]++
	}
	want := w.past
	for id, t := range w.transfers {
		switch n := there[id]; {
		case n > 1:
			return fmt.Errorf("transfer %d is noted %d times", id, n)
		case n == 1 && t.o == refused:
			return fmt.Errorf("transfer %d is noted and was refused", id)
		case n == 0 && t.o == acked:
			return fmt.Errorf("transfer %d is lost", id)
		case n == 1:
			want[t.from] -= t.amount
			want[t.to] += t.amount
		}
		if first && t.o == unknown {
			t.o = refused
			if there[id] > 0 {
				t.o = acked
			}
		}
		delete(there, id)
	}
	if len(there) > 0 {
		return fmt.Errorf("%d transfers are noted that were never made", len(there))
	}
	if rows, err = s.read(ctx, "SELECT id, balance FROM nm_accounts ORDER BY id"); err != nil {
		return err
	}
	var got [accounts]int64
	for _, r := range rows {
		got[number(r[0])] = number(r[1])
	}
	if len(rows) != accounts || got != want {
		return fmt.Errorf("%d accounts hold %v, transfers make it %v", len(rows), got, want)
	}
	if rows, err = s.read(ctx, "SELECT count(*) FROM nm_ledger WHERE id <= $1", w.upto); err != nil {
		return err
	}
	if n := number(rows[0][0]); n != w.noted {
		return fmt.Errorf("%d transfers of earlier rounds are noted, not %d", n, w.noted)
	}
	return nil
}

func (w *bank) endRound() {
	for _, t := range w.transfers {
		if t.o == acked {
			w.noted++
			w.past[t.from] -= t.amount
			w.past[t.to] += t.amount
		}
	}
	clear(w.transfers)
	w.upto = w.next
}
