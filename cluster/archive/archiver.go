package archive

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Catalog is the replicated catalog.
type Catalog interface {
	Current() *catalog.State
	Commit(ctx context.Context, changes []catalog.Change) error
}

// Config is what a node's archiver works with. All fields are required.
type Config struct {
	Catalog Catalog
	Leads   func() bool
	Commits Commits
	// Open opens, or makes, the directory of a place; done is called after its last use.
	Open func(ctx context.Context, place string) (dir *backup.Dir, done func(), err error)
	// Source gives the bytes of a file of the cluster.
	Source func(ctx context.Context, f *catalog.Segment, take backup.Take) error
	// Backup makes a backup of everything in a place, and keeps so many; 0: all.
	Backup func(ctx context.Context, place string, keep int) error
	// Event records that something happened to a place.
	Event func(severity, place, message string)
	// Hold renews, and checks, that the cluster's storage in a place is its own: number is that of the lease of the cluster that
	// has taken it over, 0 for none. It is called every HoldEvery at least.
	Hold      func(ctx context.Context, place string) (number uint64, err error)
	HoldEvery time.Duration
	Pool      *mem.Pool
	Log       *slog.Logger
}

// Commits returns the commits after a version, as past.History does.
type Commits func(ctx context.Context, after uint64, most int64) ([]past.Record, error)

const (
	// tick is how often it is looked whether commits are due.
	tick = 100 * time.Millisecond
	// most is how many bytes of commits a file has, or one commit more.
	most = 4 << 20
	// maxError bounds the text of an error in the catalog.
	maxError = 500
	// gapPause is the least time between two backups because of commits that are missing.
	gapPause        = 10 * time.Minute
	storageGapPause = 30 * time.Second // where that is the cluster's storage
	// lookEvery is how often it is looked whether the commits in the place still lead to the version that is recorded.
	lookEvery = 10 * time.Minute
	// retryPause is how long is waited after an attempt that failed before the next is made for a session that waits.
	retryPause = time.Second
	// baseEvery is how often a storage gets a new backup, so that a cluster that starts on it need not apply too many commits.
	baseEvery = 24 * time.Hour
	// marksAtOnce is how many files are recorded in one commit to be in the storage.
	marksAtOnce = 512
	// markEvery is the least time from one look at all files, for those to record, to the next.
	markEvery = 500 * time.Millisecond
)

// Archiver sends commits while its node leads.
type Archiver struct {
	cfg    Config
	looked string    // the place of which it is known that commits lead to the version that is recorded
	at     time.Time // when that was looked for
	based  time.Time // when a storage's last backup was made, once that is known
	gap    time.Time // when a backup was made last because commits were missing
	marked time.Time // when all files were looked at last
	// unmarked: they are to be looked at again soon.
	unmarked bool
	pause    time.Time // until when nothing is tried for those who wait, as it failed
	said     string    // the last error that is an event
}

// New makes one; Run runs it.
func New(c Config) *Archiver { return &Archiver{cfg: c} }

// Run sends commits until ctx ends.
func (a *Archiver) Run(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	var last time.Time
	was := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		st := a.cfg.Catalog.Current()
		place, _ := st.Setting(catalog.SettingArchive)
		if place == "" || !a.cfg.Leads() || catalog.TakenOver(st) != nil {
			was, a.looked = "", ""
			continue
		}
		if place == was && time.Since(last) < a.every(st) && !a.waitedFor(st) && !(a.unmarked && time.Since(a.marked) >= markEvery) {
			continue
		}
		last, was = time.Now(), place
		if err := a.round(ctx, place); err != nil && ctx.Err() == nil {
			a.pause = time.Now().Add(retryPause)
			a.failed(ctx, place, err)
		}
	}
}

// waitedFor reports whether a session waits for a commit that the archive lacks.
func (a *Archiver) waitedFor(st *catalog.State) bool {
	now := catalog.Archiving(st)
	return now != nil && st.Wanted() > now.Version && time.Now().After(a.pause)
}

// every is the time from one round to the next.
func (a *Archiver) every(st *catalog.State) time.Duration {
	if catalog.Storage(st) != "" {
		return min(Timeout(st)/2, a.cfg.HoldEvery)
	}
	return Timeout(st) / 2
}

// DefaultTimeout is SettingArchiveTimeout unless it is set.
const DefaultTimeout = time.Minute

// Timeout is within how long commits are to be in the archive.
func Timeout(st *catalog.State) time.Duration {
	text, _ := st.Setting(catalog.SettingArchiveTimeout)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return DefaultTimeout
}

// failed records an attempt that failed. One that another node was in the way of did not.
func (a *Archiver) failed(ctx context.Context, place string, err error) {
	a.looked = ""
	e := pgerr.From(err)
	a.cfg.Log.Warn("commits cannot be archived", "archive", place, "err", err)
	if e.Code == pgerr.SerializationFailure || e.Code == pgerr.CannotConnectNow || e.Code == pgerr.StatementCompletionUnknown {
		return
	}
	st := a.cfg.Catalog.Current()
	was := recorded(st)
	now := was
	if catalog.Archiving(st) == nil {
		now = begun(st, place)
	}
	if a.said != e.Message {
		a.said = e.Message
		a.cfg.Event("error", place, e.Message)
	}
	now.Failures, now.FailedAt, now.Error = now.Failures+1, time.Now().UnixMicro(), e.Message[:min(len(e.Message), maxError)]
	if err := a.record(ctx, was, now); err != nil {
		a.cfg.Log.Debug("recording that commits cannot be archived", "err", err)
	}
}

// recorded is what the catalog has of the archive.
func recorded(st *catalog.State) catalog.Archive {
	if a := catalog.Archived(st); a != nil {
		return *a
	}
	return catalog.Archive{}
}

// begun is an archive to which commits of a state and later are to go. The figures of the one before go on, for those who watch
// them.
func begun(st *catalog.State, place string) catalog.Archive {
	a := recorded(st)
	a.Place, a.Version, a.Micros, a.Based, a.Error = place, st.Version(), max(st.Time().UnixMicro(), 0), false, ""
	return a
}

func (a *Archiver) record(ctx context.Context, was, now catalog.Archive) error {
	return a.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.PutArchive{Archive: now, After: was}})
}

// round sends what there is to a place.
func (a *Archiver) round(ctx context.Context, place string) error {
	if lost, err := a.hold(ctx, place); lost || err != nil {
		return err
	}
	defer a.renew(ctx, place)()
	dir, done, err := a.cfg.Open(ctx, place)
	if err != nil {
		return err
	}
	defer done()
	made, err := dir.Claim(a.cfg.Catalog.Current().Cluster())
	if err != nil {
		return err
	}
	if made || time.Since(a.at) >= lookEvery { // perhaps since somebody has removed it, or a file of it
		a.looked = ""
	}
	acct := a.cfg.Pool.Account("archive", false)
	defer acct.Close()
	if err := acct.Grow(backup.Memory); err != nil {
		return err
	}
	if now := catalog.Archiving(a.cfg.Catalog.Current()); now != nil && now.Based && a.looked != place {
		leads, err := dir.Leads(now.Version, func(name string) (*backup.Backup, error) {
			if err := acct.Resize(backup.Memory); err != nil {
				return nil, err
			}
			return dir.ReadWithin(name, acct.Grow)
		})
		if err == nil && !leads {
			err = a.bridge(ctx, place, "the archive has no backup from which its commits lead on")
		}
		if err != nil {
			return err
		}
	}
	if a.looked != place {
		a.looked, a.at = place, time.Now()
	}
	for {
		st := a.cfg.Catalog.Current()
		now := catalog.Archiving(st)
		switch {
		case catalog.TakenOver(st) != nil:
			return nil
		case now == nil || !now.Based:
			if err := a.begin(ctx, place, "the archive begins with a backup"); err != nil {
				return err
			}
			continue
		case st.Forgotten().UnixMicro() > now.Micros:
			if err := a.bridge(ctx, place, "files of the past were removed, for their room, before they were in the archive"); err != nil {
				return err
			}
			continue
		}
		if err := acct.Resize(backup.Memory + 4*most); err != nil { // records, encoded, compressed
			return err
		}
		records, err := a.cfg.Commits(ctx, now.Version, most)
		if err != nil {
			return err
		}
		// Commits are written down before the catalog has them: it cannot say yet which of their files are to be sent.
		seen := a.cfg.Catalog.Current().Version()
		if i := slices.IndexFunc(records, func(r past.Record) bool { return r.Version > seen }); i >= 0 {
			records = records[:i]
		}
		if len(records) == 0 && st.Version() > now.Version {
			if err := a.bridge(ctx, place, "this node does not have all commits that the archive lacks"); err != nil {
				return err
			}
			continue
		}
		// Where these are not all there are, they are sent though they change nothing: those after them must follow something.
		all := len(records) == 0 || records[len(records)-1].Version >= st.Version()
		sent, err := a.send(ctx, dir, acct, now, records, all)
		if err != nil {
			return err
		}
		// The place has the files of every state up to the last commit that is there; what changes after it adds none.
		if now := catalog.Archiving(a.cfg.Catalog.Current()); !sent || now != nil && now.Based && now.Version >= st.Version() {
			if err := a.mark(ctx, st, place); err != nil {
				return err
			}
		}
		if !sent {
			return a.rebase(ctx, dir, acct, place)
		}
	}
}

// hold makes sure that a place which is the cluster's storage is still its own, and records where it is not: then it is lost.
func (a *Archiver) hold(ctx context.Context, place string) (lost bool, err error) {
	st := a.cfg.Catalog.Current()
	if catalog.Storage(st) != place {
		return false, nil
	}
	number, err := a.cfg.Hold(ctx, place)
	if err != nil || number == 0 {
		return false, err
	}
	was := recorded(st)
	now := was
	now.Place, now.TakenOver = place, number
	message := "the storage was taken over by another cluster: nothing is written any more, here or there"
	a.cfg.Log.Error(message, "storage", place, "lease", number)
	a.cfg.Event("error", place, message)
	return true, a.record(ctx, was, now)
}

// renew renews the lease of a storage until stop is called: a round may take longer than it lasts. What Hold finds does not matter
// here, as it is asked again before anything is acknowledged.
func (a *Archiver) renew(ctx context.Context, place string) (stop func()) {
	if catalog.Storage(a.cfg.Catalog.Current()) != place {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(a.cfg.HoldEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				_, _ = a.cfg.Hold(ctx, place)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// mark records that the storage has the files of a state.
func (a *Archiver) mark(ctx context.Context, st *catalog.State, place string) error {
	if catalog.Storage(st) != place {
		return nil
	}
	if a.unmarked = time.Since(a.marked) < markEvery; a.unmarked {
		return nil
	}
	a.marked = time.Now()
	var changes []catalog.Change
	for _, h := range catalog.HeldFiles(st) {
		if h.Lasting && !h.File.InBucket() {
			changes = append(changes, h.Held(append(slices.Clone(h.File.Nodes), catalog.Bucket)))
		}
	}
	for some := range slices.Chunk(changes, marksAtOnce) {
		if err := a.cfg.Catalog.Commit(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// rebase makes a new backup in a storage from time to time; it removes the older ones, and files that nothing names.
func (a *Archiver) rebase(ctx context.Context, dir *backup.Dir, acct *mem.Account, place string) error {
	st := a.cfg.Catalog.Current()
	if catalog.Storage(st) != place || time.Since(a.based) < baseEvery {
		return nil
	}
	newest, err := backup.Newest(dir, func(name string) (*backup.Backup, error) {
		if err := acct.Resize(backup.Memory); err != nil {
			return nil, err
		}
		return dir.ReadWithin(name, acct.Grow)
	})
	if err == nil && time.Since(newest) >= baseEvery {
		newest = time.Now()
		err = a.cfg.Backup(ctx, place, catalog.StorageBackups(st))
	}
	if err == nil {
		a.based = newest
	}
	return err
}

// bridge makes a backup because commits are missing, but not again and again: on a disk that is nearly full no commits are kept. The
// cluster's storage has the files already, and until it has the commits none of them can go from the disk.
func (a *Archiver) bridge(ctx context.Context, place, why string) error {
	pause := gapPause
	if catalog.Storage(a.cfg.Catalog.Current()) == place {
		pause = storageGapPause
	}
	if !a.gap.IsZero() && time.Since(a.gap) < pause {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s", why).WithHint("A new backup is made %s after the last one that was made for this.", pause)
	}
	a.gap = time.Now()
	return a.begin(ctx, place, why+": a new backup is made")
}

// begin makes a backup with which the archive begins, or goes on after a gap. Files and commits after the present state are
// kept from now on.
func (a *Archiver) begin(ctx context.Context, place, why string) error {
	st := a.cfg.Catalog.Current()
	now := begun(st, place)
	if err := a.record(ctx, recorded(st), now); err != nil {
		return err
	}
	a.cfg.Event("info", place, why)
	// Where no past is kept, nodes write down only what follows what was just recorded.
	from := a.cfg.Catalog.Current()
	if err := a.cfg.Backup(ctx, place, 0); err != nil {
		return err
	}
	based := now
	based.Version, based.Micros, based.Based = from.Version(), from.Time().UnixMicro(), true
	return a.record(ctx, now, based)
}

// changed returns whether commits change anything but what the catalog has of the archive and of where files are, and the files that
// they add.
func changed(records []past.Record) (yes bool, files map[catalog.SegmentID]struct{}, err error) {
	files = map[catalog.SegmentID]struct{}{}
	for _, r := range records {
		changes, err := r.Changes()
		if err != nil {
			return false, nil, err
		}
		for _, c := range changes {
			switch c.(type) {
			case *catalog.PutArchive, *catalog.SetNodes, *catalog.SetModelNodes:
			default:
				yes = true
			}
		}
		for _, f := range catalog.ArchivedFiles(changes) {
			files[f.ID] = struct{}{}
		}
	}
	return yes, files, nil
}

// send writes commits and their files, and records that. It reports false if there is nothing to write: no commit changes anything,
// and these are all.
func (a *Archiver) send(ctx context.Context, dir *backup.Dir, acct *mem.Account, now *catalog.Archive, records []past.Record, all bool) (bool, error) {
	yes, wanted, err := changed(records)
	if err != nil || !yes && all {
		return false, err
	}
	size := int64(0)
	for _, r := range records {
		size += int64(len(r.Command))
	}
	if err := acct.Resize(backup.Memory + 4*max(most, size)); err != nil {
		return false, err
	}
	// A file that the catalog does not name any more, nor keeps for the past, is one of a temporary table, unless files of the
	// past were removed before their time.
	st := a.cfg.Catalog.Current()
	if st.Forgotten().UnixMicro() > now.Micros {
		return true, nil
	}
	var files []*catalog.Segment
	var ids []catalog.SegmentID
	take := func(f *catalog.Segment) {
		if _, ok := wanted[f.ID]; ok {
			delete(wanted, f.ID)
			files, ids = append(files, f), append(ids, f.ID)
		}
	}
	if len(wanted) > 0 {
		for f := range catalog.FilesOf(st) {
			take(f)
		}
		for _, g := range st.Graves() {
			if g.File != nil {
				take(g.File)
			}
		}
	}
	o := backup.Options{Source: a.cfg.Source}
	if err := dir.PutAll(ctx, files, o); err != nil {
		return false, err
	}
	for _, j := range st.Jobs() { // the newest checkpoint, if it is not gone before it is read
		if b := j.Blob(); b != nil && b.Inline == nil && !b.ID.IsZero() && j.State != catalog.JobDone {
			var gone *store.CorruptError
			switch err := dir.PutAll(ctx, []*catalog.Segment{b}, o); {
			case err == nil:
				ids = append(ids, b.ID)
			case !errors.As(err, &gone):
				return false, err
			}
		}
	}
	name, err := dir.WriteLog(records, ids)
	if err != nil {
		return false, err
	}
	// Whoever takes over takes the lease first, and reads the commits then: what was written before this is among them.
	if lost, err := a.hold(ctx, now.Place); lost || err != nil {
		return true, err
	}
	last := records[len(records)-1]
	next := *now
	next.Version, next.Micros, next.Logs, next.Log, next.At = last.Version, last.Micros, now.Logs+1, name, time.Now().UnixMicro()
	if next.Error = ""; a.said != "" {
		a.said = ""
		a.cfg.Event("info", now.Place, "commits are archived again")
	}
	return true, a.record(ctx, *now, next)
}

// Behind is what an archive lacks as far as a node knows, of the next few MB of commits: how many, and since when the first is
// there.
func Behind(ctx context.Context, st *catalog.State, commits Commits) (n int, since time.Time) {
	a := catalog.Archiving(st)
	if a == nil {
		return 0, since
	}
	records, err := commits(ctx, a.Version, most)
	if err != nil {
		return 0, since
	}
	for i, r := range records {
		if yes, _, err := changed(records[i : i+1]); err != nil || !yes {
			continue
		}
		if n++; n == 1 {
			since = time.UnixMicro(r.Micros)
		}
	}
	return n, since
}
