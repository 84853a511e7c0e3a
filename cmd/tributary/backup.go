package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cmd/flags"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
)

const backupUsage = `Usage: tributary backup [flags] DIRECTORY

The directory is an absolute path of the server that --url names, or file:// and one, or s3://bucket/prefix. What earlier backups
have left there is not written again.
`

// backupCommand has a server make a backup.
func backupCommand(ctx context.Context, args []string) error {
	fs := flags.New("backup", backupUsage)
	url := fs.String("url", "postgres://tributary@127.0.0.1:5432/tributary", "a node to ask, as a superuser; PGPASSWORD and its kin count")
	keep := fs.Int("keep", 0, "afterwards remove all but so many of the newest backups; 0 for none")
	rate := fs.String("rate", "", "bytes a second to read at most, such as 50MB")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return errors.New(strings.TrimSpace(backupUsage))
	}
	var options []string
	if *keep != 0 {
		options = append(options, fmt.Sprintf("keep = %d", *keep))
	}
	if *rate != "" {
		options = append(options, "rate = "+lex.QuoteLiteral(*rate))
	}
	statement := "BACKUP TO " + lex.QuoteLiteral(fs.Arg(0))
	if options != nil {
		statement += " WITH (" + strings.Join(options, ", ") + ")"
	}
	conf, err := pgx.ParseConfig(*url)
	if err != nil {
		return err
	}
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { fmt.Fprintln(os.Stderr, n.Message) }
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var name string
	var version, files, bytes, written int64
	var seconds float64
	if err := c.QueryRow(ctx, statement).Scan(&name, &version, &files, &bytes, &written, &seconds); err != nil {
		return err
	}
	fmt.Printf("backup %s: %d files, %d bytes, of which %d were written, in %.1f s\n", name, files, bytes, written, seconds)
	return nil
}

const restoreUsage = `Usage: tributary restore --from DIRECTORY --data DIRECTORY [flags]

No server is needed. Start the new cluster's first node with tributary serve --data, and others with --join.
`

// restoreCommand makes a data directory of a backup.
func restoreCommand(ctx context.Context, args []string) error {
	fs := flags.New("restore", restoreUsage)
	from := fs.String("from", "", "directory with backups, or s3://bucket/prefix, which is read with AWS_ACCESS_KEY_ID and the like")
	name := fs.String("backup", "", "name of the backup (default: the newest)")
	asOf := fs.String("as-of", "", "the newest backup that was made no later, such as 2026-11-28T12:00:00Z")
	data := fs.String("data", "", "directory to make, of the new cluster's first node")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *from == "" || *data == "" {
		return errors.New("--from and --data are needed")
	}
	var until time.Time
	if *asOf != "" {
		var err error
		if until, err = time.Parse(time.RFC3339, *asOf); err != nil {
			return fmt.Errorf("--as-of %q is no time such as 2026-11-28T12:00:00Z", *asOf)
		}
	}
	dir, err := openBackups(ctx, *from)
	if err != nil {
		return err
	}
	b, err := dir.Choose(*name, until, dir.Read, func(h backup.Head) bool { return h.Objects == "" })
	if err != nil {
		return err
	}
	if b.Objects != "" {
		return fmt.Errorf("backup %s has only %s: RESTORE takes that into a cluster that runs", b.Name, b.Objects)
	}
	began := time.Now()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err = raftnode.Found(*data, log, func(cluster catalog.ClusterID, node uint64) (*catalog.State, error) {
		return restored(ctx, dir, b, filepath.Join(*data, "segments"), cluster, node)
	})
	if err != nil {
		return err
	}
	fmt.Printf("backup %s of %s: %d files, %d bytes, in %.1f s\nStart the node: tributary serve --data %s\n", b.Name, b.At.Format(time.RFC3339), b.Files, b.Bytes, time.Since(began).Seconds(), *data)
	return nil
}

// restored puts a backup's files into a node's store and returns the state of the cluster that the node founds.
func restored(ctx context.Context, dir *backup.Dir, b *backup.Backup, segments string, cluster catalog.ClusterID, node uint64) (_ *catalog.State, err error) {
	state, err := b.Catalog()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(store.Options{Dir: segments, Node: node})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	err = backup.Each(ctx, state, func(ctx context.Context, f *catalog.Segment) error {
		in, err := st.Receive(f)
		if err != nil {
			return err
		}
		err = dir.Give(ctx, b.Name, f, func(block []byte) error {
			_, err := in.Write(block)
			return err
		})
		if err != nil {
			in.Abort()
			return err
		}
		return in.Commit()
	})
	catalog.Refound(state, cluster, node)
	return state, err
}

// openBackups opens a directory, or s3://bucket/prefix with the credentials of the environment.
func openBackups(ctx context.Context, path string) (*backup.Dir, error) {
	if object.Remote(path) {
		path, err := backup.Path(path)
		if err != nil {
			return nil, err
		}
		s, err := object.NewStores(nil, object.Keys{}, nil).For(0, path, false)
		if err != nil {
			return nil, err
		}
		return backup.OpenIn(ctx, s, path, nil)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return backup.Open(disk.OS, path)
}

// verifyCommand reads a directory of backups.
func verifyCommand(ctx context.Context, args []string) error {
	fs := flags.New("verify", "Usage: tributary verify DIRECTORY\n\nThe directory may be s3://bucket/prefix, which is read with AWS_ACCESS_KEY_ID and the like.\nNo server is needed.\n")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return errors.New("give the directory of the backups")
	}
	dir, err := openBackups(ctx, fs.Arg(0))
	if err != nil {
		return err
	}
	v, err := dir.Verify(ctx)
	if err != nil {
		return err
	}
	return verified(os.Stdout, v)
}

// verified says what was found, and is an error if something is damaged.
func verified(w io.Writer, v backup.Verified) error {
	for _, d := range v.Damage {
		fmt.Fprintln(w, plain(d))
	}
	fmt.Fprintf(w, "%d backups, %d files, %d bytes\n", v.Backups, v.Files, v.Bytes)
	if n := len(v.Damage); n > 0 {
		return fmt.Errorf("%d of them are damaged or missing", n)
	}
	return nil
}
