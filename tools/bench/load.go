package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// tpchLoad makes the tables and streams dbgen's rows into COPY. Every table of
// a group has a connection of its own: orders and lineitem are made together.
func (b *run) tpchLoad(ctx context.Context) error {
	for _, t := range tpchTables {
		if err := b.exec(ctx, "DROP TABLE IF EXISTS "+t.name); err != nil {
			return err
		}
		if err := b.exec(ctx, t.create(b.o.Keys)); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	start := time.Now()
	g.Go(func() error {
		return tpchGenerate(gctx, b.o.SF, func(table string) (io.WriteCloser, error) {
			var file io.WriteCloser
			if b.o.Export != "" {
				var err error
				if file, err = b.csvFile(table); err != nil {
					return nil, err
				}
			}
			r, w := io.Pipe()
			p := &copyPipe{PipeWriter: w, done: make(chan struct{})}
			g.Go(func() error {
				defer close(p.done)
				at := time.Now()
				n, err := b.copyIn(gctx, "COPY "+table+" FROM STDIN (FORMAT csv)", r)
				_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
				if err == nil {
					b.say("%-8s %10d rows  %6.2f s", table, n, time.Since(at).Seconds())
				}
				p.err = err
				return err
			})
			if file != nil {
				return both{p, file}, nil
			}
			return p, nil
		})
	})
	if err := g.Wait(); err != nil {
		return err
	}
	b.say("loaded scale factor %v in %.2f s", b.o.SF, time.Since(start).Seconds())
	return b.analyze(ctx)
}

// copyPipe is the writing end of a COPY; Close returns when the rows are in.
type copyPipe struct {
	*io.PipeWriter
	done chan struct{}
	err  error
}

func (p *copyPipe) Close() error {
	_ = p.PipeWriter.Close()
	<-p.done
	return p.err
}

// copyIn runs one COPY on its own connection.
func (b *run) copyIn(ctx context.Context, sql string, r io.Reader) (int64, error) {
	c, err := pgx.Connect(ctx, b.dsn)
	if err != nil {
		return 0, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	tag, err := c.PgConn().CopyFrom(ctx, r, sql)
	return tag.RowsAffected(), err
}

// both writes to a COPY and a file.
type both struct{ copy, file io.WriteCloser }

func (w both) Write(p []byte) (int, error) {
	if n, err := w.file.Write(p); err != nil {
		return n, err
	}
	return w.copy.Write(p)
}

func (w both) Close() error { return errors.Join(w.file.Close(), w.copy.Close()) }

// tpchExport writes the tables as csv files alone.
func (b *run) tpchExport(ctx context.Context) error {
	start := time.Now()
	err := tpchGenerate(ctx, b.o.SF, b.csvFile)
	if err == nil {
		b.say("wrote csv files of scale factor %v to %s in %.2f s", b.o.SF, b.o.Export, time.Since(start).Seconds())
	}
	return err
}

// csvFile makes the file of a table, with a header line.
func (b *run) csvFile(table string) (io.WriteCloser, error) {
	if err := os.MkdirAll(b.o.Export, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(b.o.Export, table+".csv"))
	if err != nil {
		return nil, err
	}
	for _, t := range tpchTables {
		if t.name == table {
			if _, err := fmt.Fprintln(f, t.header()); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
	}
	return f, nil
}

// tpchReady loads the tables unless they are there with the right size; it writes the
// requested csv files either way.
func (b *run) tpchReady(ctx context.Context) error {
	z, err := tpchSizes(b.o.SF)
	if err != nil {
		return err
	}
	if !b.o.Reload {
		there, err := b.there(ctx, "orders")
		if err != nil {
			return err
		}
		if there {
			n, err := b.count(ctx, "orders")
			if err != nil {
				return err
			}
			if n == z.orders && b.o.Export != "" {
				return b.tpchExport(ctx)
			}
			if n == z.orders {
				return nil
			}
			return fmt.Errorf("there is a table orders of %d rows where scale factor %v has %d; give --reload to replace the tables", n, b.o.SF, z.orders)
		}
	}
	return b.tpchLoad(ctx)
}
