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
	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/cmd/flags"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/object"
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
	name := fs.String("backup", "", "name of the backup (default: the newest, or of an archive all that it has)")
	asOf := fs.String("as-of", "", "the newest backup that was made no later, or of an archive the state of that moment, such as 2026-11-28T12:00:00Z")
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
	b, err := dir.Choose(ctx, *name, until, dir.Read, nil, func(h backup.Head) bool { return h.Objects == "" })
	if err != nil {
		return err
	}
	if b.Objects != "" {
		return fmt.Errorf("backup %s has only %s: RESTORE takes that into a cluster that runs", b.Name, b.Objects)
	}
	began := time.Now()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	state, err := b.Catalog()
	if err != nil {
		return err
	}
	archive, _ := state.Setting(catalog.SettingArchive)
	if err := node.Restore(ctx, *data, dir, b.Name, state, log); err != nil {
		return err
	}
	var files, bytes int64
	for f := range catalog.FilesOf(state) {
		files, bytes = files+1, bytes+f.Bytes
	}
	fmt.Printf("backup %s, as of %s: %d files, %d bytes, in %.1f s\nStart the node: tributary serve --data %s\n", b.Name, b.Moment().UTC().Format(time.RFC3339Nano), files, bytes, time.Since(began).Seconds(), *data)
	if archive != "" {
		fmt.Printf("Its commits do not go to the archive of the old cluster, %s: ALTER SYSTEM SET archive names one of its own.\n", archive)
	}
	return nil
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
		return backup.OpenIn(ctx, s, path)
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
	if v.Logs > 0 {
		fmt.Fprintf(w, "%d commits in %d files of an archive\n", v.Commits, v.Logs)
	}
	for _, x := range v.Windows {
		fmt.Fprintf(w, "can be restored to any time %s\n", x)
	}
	if n := len(v.Damage); n > 0 {
		return fmt.Errorf("%d of them are damaged or missing", n)
	}
	return nil
}
