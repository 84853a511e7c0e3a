package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// flipFault damages segment files of one running node. Every segment has another
// replica: the round began with all of them intact.
func (c *cluster) flipFault(ctx context.Context, f fault) {
	r := f.random()
	n := c.nodes[f.nodes[0]]
	names, err := filepath.Glob(filepath.Join(n.data(), "segments", "*.seg"))
	if err != nil || len(names) == 0 {
		return
	}
	slices.Sort(names)
	for range 1 + r.IntN(3) {
		name := names[r.IntN(len(names))]
		if err := damage(name, f.variant, r); err != nil && !os.IsNotExist(err) {
			c.report("damaging %s: %v", name, err)
		}
		fmt.Fprintf(n.log, "--- %s %s\n", f.variant, filepath.Base(name))
	}
	wait(ctx, f.hold)
}

// spillFault damages temporary files of statements, on any node.
func (c *cluster) spillFault(ctx context.Context, f fault) {
	r := f.random()
	for end := time.Now().Add(f.hold); time.Now().Before(end) && ctx.Err() == nil; wait(ctx, 5*time.Millisecond) {
		var names []string
		for _, n := range c.nodes {
			files, err := filepath.Glob(filepath.Join(n.data(), "temp", "*", "*"))
			if err != nil {
				c.report("%v", err)
			}
			names = append(names, files...)
		}
		if len(names) == 0 {
			continue
		}
		name := names[r.IntN(len(names))]
		switch err := damage(name, f.variant, r); {
		case err == nil:
			c.spoilt.Add(1)
		case !os.IsNotExist(err):
			c.report("damaging %s: %v", name, err)
		}
	}
}

// damage corrupts a file in place.
func damage(name, how string, r *rand.Rand) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return err
	}
	at := r.Int64N(st.Size())
	switch how {
	case "bit":
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, at); err != nil {
			return err
		}
		b[0] ^= 1 << r.IntN(8)
		_, err = f.WriteAt(b, at)
	case "zero":
		_, err = f.WriteAt(make([]byte, min(4096, st.Size()-at)), at)
	case "truncate":
		err = f.Truncate(at)
	case "remove":
		err = os.Remove(name)
	}
	return err
}
