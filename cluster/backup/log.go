package backup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// logHead says what a file of commits has. Fields are added at the end.
type logHead struct {
	Cluster  catalog.ClusterID
	From, To uint64 // the versions of the states before the first commit and after the last
	Micros   int64  // State.Time after the last, in Unix µs
	Commits  int
	Raw      int64               // bytes of the records
	Files    []catalog.SegmentID // that the commits add, and that are here
}

// logFile is a file of commits, as its name says.
type logFile struct {
	name     string
	from, to uint64
	at       time.Time // State.Time after the last commit
}

const (
	logEnd  = ".log"
	logTime = "20060102T150405.000000Z"
	// maxLog bounds a .log file, and its records.
	maxLog = 1 << 30
)

var logName = regexp.MustCompile(`^([0-9]{20})-([0-9]{20})-([0-9]{8}T[0-9]{6}\.[0-9]{6}Z)\.log$`)

// logDir is the directory of the commits of the owner with a lease.
func logDir(lease uint64) string {
	if lease <= firstLease {
		return "log"
	}
	return fmt.Sprintf("log-%d", lease)
}

// Claim makes the directory the archive of a cluster, unless it is: then it returns false.
func (d *Dir) Claim(cluster catalog.ClusterID) (made bool, err error) {
	if d.owner == cluster {
		return false, nil
	}
	release, err := d.Lock()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := d.belongs(cluster); err != nil || d.owner == cluster {
		return false, err
	}
	if err := d.fs.MkdirAll(d.join(logDir(d.lease))); err != nil {
		return false, ioError(err, d.path)
	}
	if err := d.replace(markFile, [][]byte{fmt.Appendf(nil, "%d %s\n", archiveFormat, cluster)}); err != nil {
		return false, err
	}
	d.owner = cluster
	return true, nil
}

// belongs fails if the directory is the archive of another cluster.
func (d *Dir) belongs(cluster catalog.ClusterID) error {
	if d.owner.IsZero() || d.owner == cluster {
		return nil
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "directory %q is the archive of another cluster", d.path).
		WithDetail("It is that of cluster %s.", d.owner).WithHint("Use another directory. A cluster that was restored from an archive needs one of its own.")
}

// base reports whether commits of the archive can follow a backup.
func (d *Dir) base(h Head) bool { return h.Whole && h.Cluster == d.owner && !d.owner.IsZero() }

// WriteLog writes commits that follow each other, and returns the file's name. Their files, those of files, are there already.
func (d *Dir) WriteLog(records []past.Record, files []catalog.SegmentID) (string, error) {
	last := records[len(records)-1]
	h := logHead{Cluster: d.owner, From: records[0].Before, To: last.Version, Micros: last.Micros, Commits: len(records), Files: files}
	var raw []byte
	for _, r := range records {
		raw = r.Append(raw)
	}
	h.Raw = int64(len(raw))
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer enc.Close()
	name := fmt.Sprintf("%020d-%020d-%s%s", h.From, h.To, time.UnixMicro(h.Micros).UTC().Format(logTime), logEnd)
	return name, d.replace(filepath.Join(logDir(d.lease), name), encode(logMagic, codec.Marshal(h), enc.EncodeAll(raw, nil)))
}

// logs lists the files of commits, those that lead less far first.
func (d *Dir) logs() (out []logFile, _ error) {
	if d.owner.IsZero() {
		return nil, nil
	}
	names, err := d.fs.Names(d.join(logDir(d.lease)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ioError(err, d.path)
	}
	for _, name := range names {
		m := logName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		f := logFile{name: name}
		var errs [3]error
		f.from, errs[0] = strconv.ParseUint(m[1], 10, 64)
		f.to, errs[1] = strconv.ParseUint(m[2], 10, 64)
		f.at, errs[2] = time.Parse(logTime, m[3])
		if errors.Join(errs[:]...) == nil && f.from < f.to {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b logFile) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from)) })
	return out, nil
}

// following are the files that go on from a version. There are several where two nodes believed that they led.
func following(logs []logFile, version uint64) (out []logFile) {
	i, _ := slices.BinarySearchFunc(logs, version, func(f logFile, v uint64) int {
		if f.to <= v {
			return -1
		}
		return 1
	})
	for _, f := range logs[i:] {
		if f.from <= version {
			out = append(out, f)
		} else if len(out) > 0 {
			break
		}
	}
	return out
}

// end returns how far commits lead from a version and its time.
func end(logs []logFile, version uint64, at time.Time) (uint64, time.Time) {
	for {
		next := following(logs, version)
		if len(next) == 0 {
			return version, at
		}
		version, at = next[0].to, next[0].at
	}
}

// gap is commits that are missing: those after one version, up to another.
type gap struct{ from, to uint64 }

// gaps are the commits that are missing after a version to which commits lead.
func gaps(logs []logFile, version uint64) (out []gap) {
	for {
		version, _ = end(logs, version, time.Time{})
		next := uint64(0) // the first version after it from which commits go on
		for _, f := range logs {
			if f.from > version && (next == 0 || f.from < next) {
				next = f.from
			}
		}
		if next == 0 {
			return out
		}
		out, version = append(out, gap{version, next}), next
	}
}

// readLog reads a file of commits.
func (d *Dir) readLog(name string) (logHead, []byte, error) {
	b, err := d.read(d.join(logDir(d.lease), name), maxLog)
	if err != nil {
		return logHead{}, nil, ioError(err, d.path)
	}
	return decode[logHead](logMagic, fmt.Sprintf("log file %q", name), b)
}

// eachRecord calls use with the commits of a file, until that returns false. charge, which may be nil, is called for their memory.
func (d *Dir) eachRecord(f logFile, charge func(int64) error, use func(past.Record) (bool, error)) (logHead, error) {
	bad := func(why string) error {
		return pgerr.New(pgerr.DataCorrupted, "log file %q is damaged: %s", f.name, why)
	}
	h, body, err := d.readLog(f.name)
	if err != nil {
		return h, err
	}
	if h.From != f.from || h.To != f.to || h.Cluster != d.owner || h.Raw < 0 || h.Raw > maxLog {
		return h, bad("it is not what its name says")
	}
	if charge != nil {
		if err := charge(h.Raw); err != nil {
			return h, err
		}
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxLog))
	if err != nil {
		return h, err
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(body, make([]byte, 0, h.Raw))
	if err != nil || int64(len(raw)) != h.Raw {
		return h, bad("its commits cannot be read")
	}
	in, at := bytes.NewReader(raw), h.From
	for range h.Commits {
		r, _, err := past.ReadRecord(in, nil)
		if err != nil || r.Before != at {
			return h, bad("its commits do not follow each other")
		}
		at = r.Version
		if more, err := use(r); err != nil || !more {
			return h, err
		}
	}
	if at != h.To {
		return h, bad("a commit is missing")
	}
	return h, nil
}

// logReaders is how many files of commits are read at once.
const logReaders = 8

// neededByLogs notes the files that commits need, but for those files of commits that end before the first backup: it returns their
// paths. A first of 0 is that there is none.
func (d *Dir) neededByLogs(first uint64, needed map[string]struct{}) (old []string, err error) {
	logs, err := d.logs()
	if err != nil {
		return nil, err
	}
	heads := make([]logHead, len(logs))
	var g errgroup.Group
	g.SetLimit(logReaders)
	for i, f := range logs {
		if f.to <= first {
			old = append(old, d.join(logDir(d.lease), f.name))
			continue
		}
		g.Go(func() error {
			h, _, err := d.readLog(f.name)
			heads[i] = h
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for lease := range d.lease { // those of earlier owners, from whose state the owner's first backup was made
		if dir := logDir(lease); dir != logDir(d.lease) {
			names, err := d.fs.Names(d.join(dir))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, ioError(err, d.path)
			}
			for _, name := range names {
				old = append(old, d.join(dir, name))
			}
		}
	}
	for _, h := range heads {
		for _, id := range h.Files {
			needed[id.String()] = struct{}{}
		}
	}
	return old, nil
}
