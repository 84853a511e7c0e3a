package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is the version of a directory's and a backup's format. archiveFormat is that of a directory which is an archive: programs that
// do not know of archives would remove files of it.
//
// storageFormat is that of an archive in which a cluster has its files.
const (
	Format        = 1
	archiveFormat = 2
	storageFormat = 3
)

const (
	markFile   = "tributary-backup"
	lockName   = "LOCK"
	backupEnd  = ".backup"
	tempSuffix = ".tmp"
)

// Dir is a directory of backups.
type Dir struct {
	path  string
	fs    place
	owner catalog.ClusterID // whose archive it is; zero: nobody's
	lease uint64            // of a storage: the number of the lease with which its owner has taken it; else 0
	lock  object.Lease      // nil while it is not locked
}

// Path returns the directory that a URI names: an absolute path, or file:// and one, or s3://bucket/prefix.
func Path(uri string) (string, error) {
	path, isFile := strings.CutPrefix(uri, "file://")
	if scheme := object.Scheme(path); scheme != "" && !isFile {
		if bucket, prefix, _ := strings.Cut(strings.TrimPrefix(path, object.S3), "/"); scheme == "s3" && (bucket == "" || strings.Trim(prefix, "/") == "" || object.Pattern(path)) {
			return "", pgerr.New(pgerr.InvalidParameterValue, "%q does not name a place for backups", uri).WithHint("Write s3://bucket/prefix.")
		} else if scheme != "s3" {
			return "", pgerr.Unsupported("backups to %s:// are not supported", scheme).WithHint("Give an absolute path of the server, or s3://bucket/prefix.")
		}
		return strings.TrimRight(path, "/"), nil
	}
	if !filepath.IsAbs(path) {
		return "", pgerr.New(pgerr.InvalidName, "the directory of backups must be given by an absolute path").
			WithDetail("It is one of the server that runs the statement: %q.", uri)
	}
	return filepath.Clean(path), nil
}

// Open opens a directory that has backups.
func Open(files disk.FS, path string) (*Dir, error) { return open(directory{files}, path) }

// OpenIn opens a prefix of keys, as Path returns it, for as long as ctx lives.
func OpenIn(ctx context.Context, s object.Store, path string) (*Dir, error) {
	return open(prefix{ctx, object.Uncached(s), func(int64) error { return nil }}, path)
}

// WriteIn is OpenIn, or with makes Create, where memory that writing takes is charged to a pool; done ends that.
func WriteIn(ctx context.Context, s object.Store, path string, makes bool, pool *mem.Pool) (_ *Dir, done func(), err error) {
	acct := pool.Account("parts of uploads", false)
	var mu sync.Mutex // files are written at once
	p := prefix{ctx, object.Uncached(s), func(n int64) error {
		mu.Lock()
		defer mu.Unlock()
		if n < 0 {
			acct.Shrink(-n)
			return nil
		}
		return acct.Grow(n)
	}}
	use := open
	if makes {
		use = create
	}
	d, err := use(p, path)
	if err != nil {
		acct.Close()
		return nil, nil, err
	}
	return d, acct.Close, nil
}

func open(files place, path string) (*Dir, error) {
	d := &Dir{path: path, fs: files}
	return d, d.mark()
}

// mark reads what kind of directory it is.
func (d *Dir) mark() error {
	b, err := d.read(d.join(markFile), 256)
	if errors.Is(err, fs.ErrNotExist) {
		return pgerr.New(pgerr.UndefinedFile, "directory %q has no backups", d.path)
	}
	if err != nil {
		return ioError(err, d.path)
	}
	word, owner, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	format, err := strconv.Atoi(word)
	d.owner, d.lease = catalog.ClusterID{}, 0
	if err == nil && format == storageFormat {
		var lease string
		owner, lease, _ = strings.Cut(owner, " ")
		d.lease, err = strconv.ParseUint(lease, 10, 64)
	}
	if err == nil && (format == archiveFormat || format == storageFormat) {
		var n int
		if n, err = hex.Decode(d.owner[:], []byte(owner)[:min(len(owner), 2*len(d.owner))]); err == nil && n < len(d.owner) {
			err = hex.ErrLength
		}
	}
	switch {
	case err != nil:
		return pgerr.New(pgerr.DataCorrupted, "file %q does not hold the format of a directory of backups", d.join(markFile))
	case format < Format || format > storageFormat:
		return newer(fmt.Sprintf("%q", d.path), format)
	}
	return nil
}

// Owner returns whose archive or storage the directory is, zero for nobody's, and the number of the lease, which is that of an
// archive's first for an archive.
func (d *Dir) Owner() (cluster catalog.ClusterID, lease uint64) {
	return d.owner, max(d.lease, firstLease)
}

// isStorage reports whether a directory is the storage of a cluster.
func isStorage(d *Dir, cluster catalog.ClusterID) bool { return d.lease > 0 && d.owner == cluster }

// firstLease is the number of a storage's first lease. Its commits are where those of an archive are.
const firstLease = 1

// FileIn is the path of a file in a directory.
func FileIn(dir string, id catalog.SegmentID) string {
	name := id.String()
	return dir + "/files/" + name[:2] + "/" + name
}

func newer(what string, format int) error {
	return pgerr.Unsupported("%s has format %d: this version reads format %d", what, format, Format).
		WithHint("Use the version of Tributary that wrote it, or a newer one.")
}

// Create opens a directory, which it makes one of backups if it is empty or not there.
func Create(files disk.FS, path string) (*Dir, error) { return create(directory{files}, path) }

func create(files place, path string) (*Dir, error) {
	d, err := open(files, path)
	if !pgerr.Is(err, pgerr.UndefinedFile) {
		return d, err
	}
	d = &Dir{path: path, fs: files}
	if err := files.MkdirAll(path); err != nil {
		return nil, ioError(err, path)
	}
	there, err := files.Names(path)
	if err != nil {
		return nil, ioError(err, path)
	}
	// What a crash has left of this function is no reason to refuse the directory.
	ours := []string{lockName, "files", "backups"}
	for _, e := range there {
		if !slices.Contains(ours, e) && !(strings.HasPrefix(e, markFile) && strings.HasSuffix(e, tempSuffix)) {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "directory %q is neither empty nor one of backups", path).WithDetail("It has %q.", e)
		}
	}
	for _, sub := range []string{"files", "backups"} {
		if err := files.MkdirAll(d.join(sub)); err != nil {
			return nil, ioError(err, path)
		}
	}
	return d, d.replace(markFile, [][]byte{[]byte(strconv.Itoa(Format) + "\n")})
}

// Lock keeps other backups out of the directory until it is released.
func (d *Dir) Lock() (release func() error, err error) {
	lock, err := d.fs.Lock(d.join(lockName))
	if errors.Is(err, disk.ErrLocked) {
		return nil, pgerr.New(pgerr.ObjectInUse, "another backup writes to directory %q", d.path)
	}
	if err != nil {
		return nil, ioError(err, d.path)
	}
	if err := d.mark(); err != nil { // it may have become an archive
		return nil, errors.Join(err, lock.Release())
	}
	d.lock = lock
	return func() error {
		d.lock = nil
		return ioError(lock.Release(), d.path)
	}, nil
}

// held fails if the lock that this directory had may be another's by now.
func (d *Dir) held() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Held()
}

func (d *Dir) join(parts ...string) string { return d.fs.Join(append([]string{d.path}, parts...)...) }

// file is the path of a file.
func (d *Dir) file(id catalog.SegmentID) string {
	name := id.String()
	return d.join("files", name[:2], name)
}

// Names lists the backups, the oldest first.
func (d *Dir) Names() (out []string, _ error) {
	entries, err := d.fs.Names(d.join("backups"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ioError(err, d.path)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e, backupEnd); ok && validName.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// validName is the form of a backup's name: the time, and the catalog's version.
var validName = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9]{1,20}$`)

// read reads a file of at most so many bytes.
func (d *Dir) read(path string, most int64) ([]byte, error) {
	f, err := d.fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = pgerr.New(pgerr.DataCorrupted, "file %q has more than %d bytes", path, most)
	}
	return b, err
}

// replace writes a file of the directory: after a crash it is there in full or not at all.
func (d *Dir) replace(name string, parts [][]byte) error {
	path := d.join(name)
	err := d.fs.Write(path, func(w io.Writer) error {
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = d.fs.SyncDir(filepath.Dir(path))
	}
	return ioError(err, path)
}

// syncing has the disk begin to write what was written, so that the Sync at the end has little left to wait for.
type syncing struct {
	disk.File
	at, begun int64
}

func (s *syncing) Write(b []byte) (int, error) {
	n, err := s.File.Write(b)
	if s.at += int64(n); s.at-s.begun >= 4<<20 {
		disk.Begin(s.File, s.begun, s.at-s.begun)
		s.begun = s.at
	}
	return n, err
}

// send passes a file's bytes on.
func (d *Dir) send(ctx context.Context, id catalog.SegmentID, to func([]byte) error) error {
	f, err := d.fs.Open(d.file(id))
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for b, err := range disk.Blocks(f, func() []byte { return buf }) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = to(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ioError(err error, path string) error {
	var known *pgerr.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return disk.Error(err, fmt.Sprintf("could not use directory of backups %q", path))
}
