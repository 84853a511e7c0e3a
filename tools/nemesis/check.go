package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// until polls another process until try succeeds; at the end of ctx it returns the last
// error.
func until(ctx context.Context, what string, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // prefer the last error over the timeout
			last = err
		}
		wait(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, last)
		}
	}
}

// ready waits until every node reports that all are alive.
func (c *cluster) ready(ctx context.Context, each []*session) error {
	for _, s := range each {
		err := until(ctx, "not ready after the heal", func(ctx context.Context) error {
			rows, err := s.try(ctx, "SELECT count(*) FROM cluster.nodes WHERE state = 'ready'")
			if err == nil && number(rows[0][0]) != int64(len(c.nodes)) {
				err = fmt.Errorf("%s sees %d nodes", c.nodes[s.fixed].name, number(rows[0][0]))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle waits until no session or task of clients that have gone is left.
func (c *cluster) idle(ctx context.Context, each []*session) error {
	for _, s := range each {
		for _, q := range []string{"SELECT application_name, state, query FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name LIKE 'nemesis\\_%' AND application_name <> 'nemesis_check'",
			"SELECT statement, stage, task, query FROM cluster.tasks WHERE query NOT LIKE '%cluster.tasks%'"} {
			err := until(ctx, "work is left of clients that are gone", func(ctx context.Context) error {
				rows, err := s.try(ctx, q)
				if err == nil && len(rows) > 0 {
					err = fmt.Errorf("%s: %v", c.nodes[s.fixed].name, rows)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// replicas waits until every segment is on as many nodes as it should be, and
// compares the files with the catalog.
func (c *cluster) replicas(ctx context.Context, s *session) error {
	return until(ctx, "replicas", func(ctx context.Context) error {
		rows, err := s.try(ctx, "SELECT id, nodes, hash, bytes FROM cluster.segments WHERE NOT inline")
		if err != nil {
			return err
		}
		for _, r := range rows {
			id := r[0].(string)
			names, _ := r[1].([]any)
			stored := slices.Contains(names, any("storage"))
			if stored {
				names = slices.DeleteFunc(names, func(name any) bool { return name == "storage" })
			} else if len(names) != min(3, len(c.nodes)) {
				return fmt.Errorf("segment %s of %d bytes is on %v", id, number(r[3]), names)
			}
			for _, name := range names {
				i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == name })
				if i < 0 {
					return fmt.Errorf("segment %s is on %v, which is no node", id, name)
				}
				b, err := os.ReadFile(filepath.Join(c.nodes[i].data(), "segments", id+".seg"))
				if stored && errors.Is(err, fs.ErrNotExist) {
					continue // it was dropped
				}
				if err != nil {
					return fmt.Errorf("segment %s on %v: %w", id, name, err)
				}
				if sum := xxh3.Hash128(b).Bytes(); r[2] != "xxh128:"+hex.EncodeToString(sum[:]) {
					return fmt.Errorf("segment %s on %v has not the hash of the catalog", id, name)
				}
			}
		}
		return nil
	})
}

// leftovers waits until no node has more files that are in no table than are kept for the past, or temporary
// files of statements that are over.
func (c *cluster) leftovers(ctx context.Context, s *session) error {
	return until(ctx, "files are left", func(ctx context.Context) error {
		rows, err := s.try(ctx, "SELECT id FROM cluster.segments WHERE NOT inline UNION ALL SELECT 'job ' || job FROM ml.training_jobs WHERE state = 'running' OR state <> 'done' AND iterations > 0")
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, r := range rows {
			known[r[0].(string)+".seg"] = true
			if strings.HasPrefix(r[0].(string), "job ") {
				return nil // its checkpoint is a file that SQL does not name
			}
		}
		kept := int64(0)
		if c.current() { // the version before keeps no past
			if rows, err = s.try(ctx, "SELECT coalesce(sum(files), 0)::int8 FROM cluster.history"); err != nil {
				return err
			}
			kept = number(rows[0][0])
		}
		for _, n := range c.nodes {
			past := kept
			for _, dir := range []string{"segments", "temp"} {
				files, err := os.ReadDir(filepath.Join(n.data(), dir))
				if err != nil {
					return err
				}
				for _, f := range files {
					// Damaged files are set aside for inspection; scrub is the progress of scrubbing.
					if f.IsDir() || f.Name() == "scrub" || known[f.Name()] || strings.HasSuffix(f.Name(), ".damaged") {
						continue
					}
					if past--; past < 0 || dir == "temp" {
						return fmt.Errorf("%s has %s/%s", n.name, dir, f.Name())
					}
				}
			}
		}
		return nil
	})
}
