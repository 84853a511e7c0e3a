package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Backups are the files of the cluster, as backups need them.
type Backups interface {
	// Read gives the bytes of a file to take, from any node that has it; see backup.Take.
	Read(ctx context.Context, f *catalog.Segment, take func(read func(to func([]byte) error) error) error) error
	// Install makes the bytes that give passes on a new file of the cluster, on a majority of its replicas, and sets
	// f.Nodes.
	Install(ctx context.Context, f *catalog.Segment, give func(to func([]byte) error) error) error
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

// dir opens, or makes, the place of backups that a URI names. done gives back what is charged for it.
func (c backups) dir(x *session.Execution, uri string, write bool) (_ *backup.Dir, done func(), err error) {
	return openPlace(x.Ctx, x.Pool, uri, write, func(path string) (object.Store, error) {
		if path == catalog.Storage(c.cfg.Meta.Current()) { // as nodes read and write it
			return c.cfg.Storage.Store(path)
		}
		return x.Store(path, write)
	})
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
			err = mayBackup(st, x.Caller.Role, "BACKUP")
		}
		if err != nil {
			return nil, err
		}
		dir, done, err := c.dir(x, n.URI, true)
		if err != nil {
			return nil, err
		}
		defer done()
		unlock, err := dir.Lock()
		if err != nil {
			return nil, err
		}
		row, err := c.backupTo(ctx, x, n, dir, rate, keep)
		if err = errors.Join(err, unlock()); err != nil {
			return nil, err
		}
		return session.Table(backupColumns, [][]types.Datum{row}, "BACKUP")
	}}, nil
}

// backupTo makes a backup in a directory that this session has locked.
func (c backups) backupTo(ctx context.Context, x *session.Execution, n *parse.Backup, dir *backup.Dir, rate int64, keep int) ([]types.Datum, error) {
	began := time.Now()
	acct := x.Pool.Account("backup", false)
	defer acct.Close()
	if err := acct.Grow(backup.Memory); err != nil {
		return nil, err
	}
	shown := x.Report((&sysview.Progress{Of: "basebackup"}).Enter("estimating backup size"))
	o := backup.Options{Rate: rate, Busy: turn.Busy, Total: func(n int64) {
		shown.OfBytes.Store(n)
		shown.Enter("streaming database files")
	}, Progress: func(p backup.Progress) {
		shown.Bytes.Store(p.Bytes)
		c.s.Notice(pgerr.New(pgerr.SuccessfulCompletion, "backup: %d of %d files, %d of %d MB, %d MB written", p.Files, p.Of, p.Bytes>>20, p.OfBytes>>20, p.Written>>20))
	}, Source: func(ctx context.Context, f *catalog.Segment, take backup.Take) error {
		return c.cfg.Backups.Read(ctx, f, take)
	}}
	state, err := c.backedUp(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	// Not before any commit that the state has: AS OF must not give what came later.
	head := backup.Head{Cluster: state.Cluster(), Version: state.Version(), At: time.Now()}
	if n.Kind != "" {
		if state, err = catalog.WithoutSessions(state); err != nil {
			return nil, err
		}
		if state, head.Objects, err = c.only(x, state, n); err != nil {
			return nil, err
		}
	}
	if err := acct.Grow(catalog.EncodedBytes(state)); err != nil {
		return nil, err
	}
	name, p, err := dir.Write(ctx, head, state, o)
	if err == nil && keep > 0 {
		read := func(name string) (*backup.Backup, error) {
			if err := acct.Resize(backup.Memory); err != nil {
				return nil, err
			}
			b, err := dir.ReadWithin(name, acct.Grow)
			if err == nil {
				err = acct.Grow(2 * int64(len(b.State))) // decoded it is larger
			}
			return b, err
		}
		err = dir.Keep(keep, head.Cluster, head.Objects, read, func() (*catalog.State, error) {
			if err := c.cfg.Meta.Barrier(ctx); err != nil {
				return nil, err
			}
			now := c.cfg.Meta.Current()
			if backup.Stored(dir, now.Cluster()) {
				if ok, err := c.unread(ctx, now.Version()); err != nil || !ok {
					return nil, err
				}
			}
			return now, nil
		})
	}
	if err != nil {
		return nil, err
	}
	return []types.Datum{name, int64(head.Version), p.Files, p.Bytes, p.Written, time.Since(began).Seconds()}, nil
}

// readersTime bounds how long a backup in the cluster's storage waits for statements that read older states, before it removes
// files which those may need and no node may have any more.
const readersTime = time.Minute

// unread waits until no statement of any node reads a state before a version, and reports whether that is so.
func (c backups) unread(ctx context.Context, version uint64) (bool, error) {
	session.StopReading(c.s) // what it read is written
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(readersTime); c.cfg.Members.Horizon() < version; {
		if time.Now().After(end) {
			c.s.Warn(pgerr.Warning, "older backups and files that nothing needs are not removed, as a statement still reads an older state: the next backup removes them")
			return false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return true, nil
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
		state := c.cfg.Meta.Current()
		lasting, err := catalog.WithoutSessions(state)
		if err != nil {
			return nil, err
		}
		for _, j := range lasting.Jobs() {
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

// only is the state with the object alone that a BACKUP names, and what it is called.
func (c backups) only(x *session.Execution, state *catalog.State, n *parse.Backup) (*catalog.State, string, error) {
	o, err := find(x, state, state, n.Kind, n.Name)
	if err == nil && o == (backup.Object{}) {
		err = notThere(n.Kind, n.Name, "")
	}
	if err != nil {
		return nil, "", err
	}
	only, warnings, err := backup.Only(state, o)
	for _, w := range warnings {
		c.s.Notice(w)
	}
	schema, name := named(state, o)
	return only, objectName(n.Kind, schema, name), err
}

// named returns the schema of an object, "" for a schema, and its name.
func named(st *catalog.State, o backup.Object) (schema, name string) {
	switch {
	case o.Table != nil:
		return st.Schema(o.Table.Schema).Name, o.Table.Name
	case o.Model != nil:
		return st.Schema(o.Model.Schema).Name, o.Model.Name
	}
	return "", o.Schema.Name
}

// notThere is the error of an object that does not exist, in a place.
func notThere(kind string, name []string, in string) error {
	code := map[string]pgerr.Code{"table": pgerr.UndefinedTable, "model": pgerr.UndefinedObject, "schema": pgerr.InvalidSchemaName}[kind]
	if kind == "table" {
		kind = "relation"
	}
	return pgerr.New(code, "%s \"%s\" does not exist%s", kind, strings.Join(name, "."), in)
}

// lookIn lists the names of the schemas in which a statement means an object, and the object's own.
func lookIn(x *session.Execution, view *catalog.State, named []string) (path []string, name string, err error) {
	schema, name, err := catalog.ObjectName(named...)
	if err != nil || schema != "" {
		return []string{schema}, name, err
	}
	for _, sc := range x.Caller.Schemas(view) {
		path = append(path, sc.Name)
	}
	return path, name, nil
}

// objectName is what a backup says of itself that has an object alone.
func objectName(kind, schema, name string) string {
	if schema == "" {
		return kind + " " + lex.QuoteName(name)
	}
	return kind + " " + lex.QuoteName(schema) + "." + lex.QuoteName(name)
}

// find finds an object of a state, a table or model of a name without a schema along the search path of another; none is the zero value.
func find(x *session.Execution, in, view *catalog.State, kind string, named []string) (o backup.Object, err error) {
	if kind == "schema" {
		return backup.Object{Schema: in.SchemaByName(named[0])}, nil
	}
	path, name, err := lookIn(x, view, named)
	for _, p := range path {
		sc := in.SchemaByName(p)
		if sc == nil {
			continue
		}
		if kind == "table" {
			o.Table = in.Relation(sc.OID, name)
		} else {
			o.Model = in.Model(sc.OID, name)
		}
		if o != (backup.Object{}) {
			break
		}
	}
	return o, err
}

// restore handles RESTORE TABLE, RESTORE MODEL and RESTORE SCHEMA.
func (c backups) restore(n *parse.Restore) (*session.Command, error) {
	if n.Kind == "" {
		return nil, pgerr.Unsupported("RESTORE of everything into a cluster that runs is not supported").
			WithHint("tributary restore makes a new cluster of a backup. RESTORE SCHEMA takes all of a schema.")
	}
	name := ""
	for _, o := range n.Options {
		if o.Name != "backup" {
			return nil, unknownOption("RESTORE", o, "backup")
		}
		name = parse.ConstText(o.Value)
	}
	if name != "" && n.AsOf != "" {
		return nil, pgerr.New(pgerr.SyntaxError, "AS OF and the option backup cannot be used together")
	}
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if err := x.Txn.Writable("RESTORE"); err != nil {
			return "", err
		}
		st, err := x.View()
		if err == nil {
			err = mayBackup(st, x.Caller.Role, "RESTORE")
		}
		if err != nil {
			return "", err
		}
		return "RESTORE", c.restoreFrom(ctx, x, st, n, name)
	}), nil
}

// restoreFrom takes an object out of a backup.
func (c backups) restoreFrom(ctx context.Context, x *session.Execution, st *catalog.State, n *parse.Restore, name string) error {
	dir, done, err := c.dir(x, n.URI, false)
	if err != nil {
		return err
	}
	defer done()
	path, last := []string{""}, n.Name[0]
	if n.Kind != "schema" {
		if path, last, err = lookIn(x, st, n.Name); err != nil {
			return err
		}
	}
	asOf := time.Time{}
	if n.AsOf != "" {
		at, err := types.ParseText(types.Timestamptz, n.AsOf, c.s.Caller().Values)
		if err != nil {
			return err
		}
		asOf = time.UnixMicro(at.(int64))
	}
	acct := x.Pool.Account("restore", false)
	defer acct.Close()
	if err := acct.Grow(backup.Memory); err != nil {
		return err
	}
	b, err := dir.Choose(ctx, name, asOf, func(name string) (*backup.Backup, error) {
		if err := acct.Resize(backup.Memory); err != nil {
			return nil, err
		}
		return dir.ReadWithin(name, acct.Grow)
	}, acct.Grow, func(h backup.Head) bool {
		return h.Objects == "" || slices.ContainsFunc(path, func(schema string) bool {
			return h.Objects == objectName(n.Kind, schema, last) || n.Kind != "schema" && h.Objects == objectName("schema", "", schema)
		})
	})
	if err != nil {
		return err
	}
	if err := acct.Grow(2 * int64(len(b.State))); err != nil { // decoded it is larger
		return err
	}
	old, err := b.Catalog()
	if err != nil {
		return err
	}
	a, err := c.adoption(ctx, x, old, st, n)
	if err == nil {
		_, err = x.Txn.Peek(a.Changes) // before the files are copied
	}
	if err != nil {
		return err
	}
	x.Txn.Wrote(a.Files...)
	err = backup.EachOf(ctx, a.Files, func(ctx context.Context, f *catalog.Segment) error {
		return c.cfg.Backups.Install(ctx, f, func(to func([]byte) error) error { return dir.Give(ctx, b.Name, a.From[f], to) })
	})
	if err != nil {
		return err
	}
	a.Adopted()
	if _, err := x.Txn.Add(a.Changes...); err != nil {
		return err
	}
	for _, w := range a.Warnings {
		c.s.Notice(w)
	}
	return nil
}

// adoption plans to take in the object that a RESTORE names.
func (c backups) adoption(ctx context.Context, x *session.Execution, old, st *catalog.State, n *parse.Restore) (*backup.Adoption, error) {
	o, err := find(x, old, st, n.Kind, n.Name)
	if err == nil && o == (backup.Object{}) {
		err = notThere(n.Kind, n.Name, " in the backup")
	}
	if err != nil {
		return nil, err
	}
	schema, name := named(old, o)
	if n.As != nil {
		given, as, err := catalog.ObjectName(n.As...)
		if err != nil {
			return nil, err
		}
		if given != "" && n.Kind == "schema" {
			return nil, pgerr.New(pgerr.InvalidName, "improper name of a schema: %q", strings.Join(n.As, "."))
		}
		schema, name = cmp.Or(given, schema), as
	}
	a := backup.NewAdoption(backup.Adoption{Old: old, Now: st, Name: name, Owner: x.Caller.Role, NewOID: func() (types.OID, error) { return c.oids.New(ctx) }})
	if n.Kind != "schema" {
		if a.Schema = st.SchemaByName(schema); a.Schema == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", schema)
		}
	}
	return a, a.Adopt(o)
}

// show handles SHOW BACKUPS.
func (c backups) show(n *parse.ShowBackups) (*session.Command, error) {
	return &session.Command{Columns: listColumns, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err == nil {
			err = mayBackup(st, x.Caller.Role, "SHOW BACKUPS")
		}
		if err != nil {
			return nil, err
		}
		dir, done, err := c.dir(x, n.URI, false)
		if err != nil {
			return nil, err
		}
		defer done()
		names, err := dir.Names()
		if err != nil {
			return nil, err
		}
		var rows [][]types.Datum
		var heads []backup.Head
		for _, name := range slices.Backward(names) {
			row, head, err := c.backupRow(ctx, x, dir, name)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			heads = append(heads, head)
		}
		windows, err := dir.Windows(heads)
		if err != nil {
			return nil, err
		}
		for _, w := range windows {
			c.s.Notice(pgerr.New(pgerr.SuccessfulCompletion, "the archive can be restored to any time %s", w))
		}
		return session.Table(listColumns, rows, "SHOW BACKUPS")
	}}, nil
}

// backupRow describes a backup, or what is wrong with it.
func (c backups) backupRow(ctx context.Context, x *session.Execution, dir *backup.Dir, name string) ([]types.Datum, backup.Head, error) {
	acct := x.Pool.Account("backup", false)
	defer acct.Close()
	b, err := dir.ReadWithin(name, acct.Grow)
	switch {
	case ctx.Err() != nil:
		return nil, backup.Head{}, ctx.Err()
	case pgerr.Is(err, pgerr.DataCorrupted), pgerr.Is(err, pgerr.FeatureNotSupported):
		return []types.Datum{name, nil, nil, nil, nil, nil, nil, pgerr.From(err).Message}, backup.Head{}, nil
	case err != nil:
		return nil, backup.Head{}, err
	}
	objects := types.Datum(nil)
	if b.Objects != "" {
		objects = b.Objects
	}
	return []types.Datum{name, micros(b.At), int64(b.Version), b.Cluster.String(), objects, b.Files, b.Bytes, nil}, b.Head, nil
}
