package coord

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Backups are the files of the cluster, as backups need them.
type Backups interface {
	// Read gives the bytes of a file to take, from any node that has it; see backup.Take.
	Read(ctx context.Context, f *catalog.Segment, take func(read func(to func([]byte) error) error) error) error
}

// backups makes the commands of backups' statements.
type backups struct{ *dispatcher }

// backupColumns are those of BACKUP, listColumns those of SHOW BACKUPS.
var (
	backupColumns = columns("backup", types.Text, "version", types.Int8, "files", types.Int8, "bytes", types.Int8, "bytes_written", types.Int8, "seconds", types.Float8)
	listColumns   = columns("backup", types.Text, "at", types.Timestamptz, "version", types.Int8, "cluster", types.Text, "objects", types.Text,
		"files", types.Int8, "bytes", types.Int8, "damage", types.Text)
)

// columns describes columns from their names and types, in turn.
func columns(namesAndTypes ...any) (out []plan.Column) {
	for i := 0; i < len(namesAndTypes); i += 2 {
		out = append(out, plan.Column{ID: expr.ColID(len(out) + 1), Name: namesAndTypes[i].(string), Type: namesAndTypes[i+1].(types.Type)})
	}
	return out
}

// micros is a time as a datum of timestamptz.
func micros(t time.Time) types.Datum { return t.UnixMicro() }

// minRate bounds WITH (rate = …) from below: at less the connections between nodes would count as broken.
const minRate = 1 << 20

// backupOptions reads the options of BACKUP; a name that is not among them is refused.
func backupOptions(list []parse.Option) (rate int64, keep int, err error) {
	for _, o := range list {
		text := parse.ConstText(o.Value)
		bad := func(want string) error {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option %q: %s", o.Name, o.Text).At(o.Pos).WithHint("It must be %s.", want)
		}
		switch o.Name {
		case "rate":
			if rate, err = settings.Bytes(text); err != nil || rate < minRate {
				return 0, 0, bad("a number of bytes a second, such as '50MB', of 1MB at least")
			}
		case "keep":
			if keep, err = strconv.Atoi(text); err != nil || keep < 1 {
				return 0, 0, bad("how many backups to keep, 1 at least")
			}
		default:
			return 0, 0, unknownOption("BACKUP", o, "keep, rate")
		}
	}
	return rate, keep, nil
}

func unknownOption(statement string, o parse.Option, there string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "%s has no option %q", statement, o.Name).At(o.Pos).WithHint("There are %s.", there)
}

// mayBackup fails unless the role may read and write files of the server, all of the cluster among them.
func mayBackup(st *catalog.State, role types.OID, what string) error {
	if st.Super(role) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to %s", what)
}

// backup handles BACKUP.
func (c backups) backup(n *parse.Backup) (*session.Command, error) {
	rate, keep, err := backupOptions(n.Options)
	if err != nil {
		return nil, err
	}
	return &session.Command{Columns: backupColumns, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		if err := c.s.Alone("BACKUP"); err != nil {
			return nil, err
		}
		st, err := x.View() // which the session holds: no node removes a file of it, or of a later one, before the end
		if err == nil {
			err = mayBackup(st, x.Context.Role, "BACKUP")
		}
		if err != nil {
			return nil, err
		}
		path, err := backup.Path(n.URI)
		if err != nil {
			return nil, err
		}
		unlock, err := backup.Lock(path)
		if err != nil {
			return nil, err
		}
		row, err := c.backupTo(ctx, x, n, path, rate, keep)
		if err = errors.Join(err, unlock()); err != nil {
			return nil, err
		}
		return session.Table(backupColumns, [][]types.Datum{row}, "BACKUP")
	}}, nil
}

// backupTo makes a backup in a directory that this session has locked.
func (c backups) backupTo(ctx context.Context, x *session.Execution, n *parse.Backup, path string, rate int64, keep int) ([]types.Datum, error) {
	began := time.Now()
	dir, err := backup.Create(disk.OS, path)
	if err != nil {
		return nil, err
	}
	acct := x.Pool.Account("backup", false)
	defer acct.Close()
	if err := acct.Grow(backup.Memory); err != nil {
		return nil, err
	}
	o := backup.Options{Rate: rate, Progress: func(p backup.Progress) {
		c.s.Notice(pgerr.New(pgerr.SuccessfulCompletion, "backup: %d of %d files, %d of %d bytes, %d bytes written", p.Files, p.Of, p.Bytes, p.OfBytes, p.Written))
	}, Source: func(ctx context.Context, f *catalog.Segment, take backup.Take) error {
		return c.cfg.Backups.Read(ctx, f, take)
	}}
	state, err := c.backedUp(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	head := backup.Head{Cluster: state.Cluster(), Version: state.Version(), At: began}
	if n.Kind != "" {
		if state, head.Objects, err = c.only(x, state, n); err != nil {
			return nil, err
		}
	}
	if err := acct.Grow(catalog.EncodedBytes(state)); err != nil {
		return nil, err
	}
	name, p, err := dir.Write(ctx, head, state, o)
	if err == nil && keep > 0 {
		err = dir.Keep(keep, head.Objects)
	}
	if err != nil {
		return nil, err
	}
	return []types.Datum{name, int64(head.Version), p.Files, p.Bytes, p.Written, time.Since(began).Seconds()}, nil
}

// checkpointTries is how often a backup begins with a newer state because a training has replaced its checkpoint.
const checkpointTries = 10

// backedUp returns the state that a backup has: the newest there is when it begins. The checkpoints of trainings
// are written at once: other than files of tables, they are removed as soon as there is a newer one.
func (c backups) backedUp(ctx context.Context, dir *backup.Dir, o backup.Options) (*catalog.State, error) {
	for try := 1; ; try++ {
		if err := c.cfg.Meta.Barrier(ctx); err != nil {
			return nil, err
		}
		state, err := catalog.WithoutSessions(c.cfg.Meta.Current())
		if err != nil {
			return nil, err
		}
		for _, j := range state.Jobs() {
			if b := j.Blob(); b != nil && b.Inline == nil && j.State != catalog.JobDone {
				err = errors.Join(err, dir.Put(ctx, b, o))
			}
		}
		var gone *store.CorruptError
		if err == nil || try == checkpointTries || !errors.As(err, &gone) {
			return state, err
		}
	}
}

// only is the state with the objects alone that a BACKUP names, and what they are called.
func (c backups) only(x *session.Execution, state *catalog.State, n *parse.Backup) (*catalog.State, string, error) {
	return nil, "", pgerr.Unsupported("BACKUP %s is not supported", strings.ToUpper(n.Kind)).WithHint("BACKUP TO takes everything; RESTORE takes one object out of that.")
}

// restore handles RESTORE.
func (c backups) restore(n *parse.Restore) (*session.Command, error) {
	return nil, pgerr.Unsupported("RESTORE is not supported")
}

// show handles SHOW BACKUPS.
func (c backups) show(n *parse.ShowBackups) (*session.Command, error) {
	return &session.Command{Columns: listColumns, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err == nil {
			err = mayBackup(st, x.Context.Role, "SHOW BACKUPS")
		}
		if err != nil {
			return nil, err
		}
		path, err := backup.Path(n.URI)
		if err != nil {
			return nil, err
		}
		dir, err := backup.Open(disk.OS, path)
		if err != nil {
			return nil, err
		}
		names, err := dir.Names()
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		for _, name := range slices.Backward(names) {
			row, err := c.backupRow(ctx, x, dir, name)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		return session.Table(listColumns, rows, "SHOW BACKUPS")
	}}, nil
}

// backupRow describes a backup, or what is wrong with it.
func (c backups) backupRow(ctx context.Context, x *session.Execution, dir *backup.Dir, name string) ([]types.Datum, error) {
	acct := x.Pool.Account("backup", false)
	defer acct.Close()
	b, err := readBackup(acct, dir, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case pgerr.Is(err, pgerr.DataCorrupted), pgerr.Is(err, pgerr.FeatureNotSupported):
		return []types.Datum{name, nil, nil, nil, nil, nil, nil, pgerr.From(err).Message}, nil
	case err != nil:
		return nil, err
	}
	objects := types.Datum(nil)
	if b.Objects != "" {
		objects = b.Objects
	}
	return []types.Datum{name, micros(b.At), int64(b.Version), b.Cluster.String(), objects, b.Files, b.Bytes, nil}, nil
}

// readBackup reads a backup, whose bytes it charges.
func readBackup(acct *mem.Account, dir *backup.Dir, name string) (*backup.Backup, error) {
	size, err := dir.Size(name)
	if err == nil {
		err = acct.Grow(2 * size) // while it is read it may be there twice
	}
	if err != nil {
		return nil, err
	}
	return dir.Read(name)
}
