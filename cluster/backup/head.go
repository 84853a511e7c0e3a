package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Head says what a backup is. Fields are added at the end.
type Head struct {
	Cluster catalog.ClusterID
	Version uint64 // of the catalog's state
	At      time.Time
	Objects string // what is in it, as BACKUP names it: "table public.t"; "" for everything
	Files   int64
	Bytes   int64 // of the files
}

// Backup is a backup that was read.
type Backup struct {
	Head
	Name  string
	State []byte // encoded
}

// A .backup file is magic, format, the length of the head, the head, the state, and the SHA-256 of all that.
const (
	magic = "TRIBBKUP"
	fixed = len(magic) + 4 + 4
	// maxBackup bounds a .backup file, which is read into memory.
	maxBackup = 16 << 30
)

// encode returns the parts of a .backup file.
func encode(h Head, state []byte) [][]byte {
	head := codec.Marshal(h)
	start := binary.LittleEndian.AppendUint32([]byte(magic), Format)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(head)))
	sum := sha256.New()
	parts := [][]byte{start, head, state}
	for _, p := range parts {
		sum.Write(p)
	}
	return append(parts, sum.Sum(nil))
}

// decode reads what encode made.
func decode(name string, b []byte) (*Backup, error) {
	bad := func(what string) error {
		return pgerr.New(pgerr.DataCorrupted, "backup %q is damaged: %s", name, what)
	}
	if len(b) < fixed+sha256.Size || !bytes.HasPrefix(b, []byte(magic)) {
		return nil, bad("it does not begin as a backup does")
	}
	if format := binary.LittleEndian.Uint32(b[len(magic):]); format != Format {
		return nil, newer(name, int(format))
	}
	body := b[:len(b)-sha256.Size]
	if sha256.Sum256(body) != [sha256.Size]byte(b[len(body):]) {
		return nil, bad("its checksum is not that of its bytes")
	}
	n := uint64(binary.LittleEndian.Uint32(b[len(magic)+4:]))
	if n > uint64(len(body)-fixed) {
		return nil, bad("its head is longer than the file")
	}
	head, err := codec.Unmarshal[Head](body[fixed : fixed+int(n)])
	if err != nil {
		return nil, pgerr.Wrap(pgerr.DataCorrupted, err, "backup %q is damaged", name)
	}
	return &Backup{Head: head, Name: name, State: body[fixed+int(n):]}, nil
}

// Size returns the bytes of a backup's description, which Read takes in memory.
func (d *Dir) Size(name string) (int64, error) {
	size, err := d.fs.Size(d.backup(name))
	if err != nil {
		return 0, d.missing(err, name)
	}
	return size, nil
}

func (d *Dir) backup(name string) string { return d.join("backups", name+backupEnd) }

func (d *Dir) missing(err error, name string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return pgerr.New(pgerr.UndefinedObject, "directory %q has no backup %q", d.path, name)
	}
	return ioError(err, d.path)
}

// Read reads a backup and compares its checksum.
func (d *Dir) Read(name string) (*Backup, error) {
	if !validName.MatchString(name) {
		return nil, d.missing(fs.ErrNotExist, name)
	}
	b, err := d.read(d.backup(name), maxBackup)
	if err != nil {
		return nil, d.missing(err, name)
	}
	return decode(name, b)
}

// Catalog decodes the state, which is the caller's alone.
func (b *Backup) Catalog() (s *catalog.State, err error) {
	defer func() {
		if p := recover(); p != nil { // the parts of a state that do not fit each other
			s, err = nil, pgerr.New(pgerr.DataCorrupted, "backup %q is damaged: its state cannot be used", b.Name).WithDetail("%v", p)
		}
	}()
	if s, err = catalog.UnmarshalState(b.State); err != nil {
		return nil, pgerr.Wrap(pgerr.DataCorrupted, err, "backup %q is damaged", b.Name)
	}
	return s, nil
}

// Choose returns the backup that is meant: the one of a name, or else the newest of those that want takes and that
// were made no later than asOf, which may be zero. read is Read, or one that charges memory.
func (d *Dir) Choose(name string, asOf time.Time, read func(name string) (*Backup, error), want func(Head) bool) (*Backup, error) {
	if name != "" {
		return read(name)
	}
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		if err != nil {
			return nil, err
		}
		if (asOf.IsZero() || !b.At.After(asOf)) && want(b.Head) {
			return b, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "directory %q has no such backup", d.path).WithHint("SHOW BACKUPS FROM lists those that it has.")
}
