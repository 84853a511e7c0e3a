package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
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
	// Whole: the state is as the cluster has it, with what ends with sessions, so that commits can follow it. An archive has
	// such backups. Micros is State.Time, in Unix µs.
	Whole  bool
	Micros int64
}

// Backup is a backup that was read.
type Backup struct {
	Head
	Name  string
	State []byte // encoded
	// recovered is the state of a later moment, to which the commits of an archive led.
	recovered *catalog.State
}

// A .backup file is magic, format, the length of the head, the head, the state, and the SHA-256 of all that. A .log file is
// the same with other magic, and compressed commits for the state.
const (
	magic    = "TRIBBKUP"
	logMagic = "TRIBLOG\x00"
	fixed    = len(magic) + 4 + 4
	// maxBackup bounds a .backup file, which is read into memory.
	maxBackup = 16 << 30
)

// encode returns the parts of a file.
func encode(magic string, head, body []byte) [][]byte {
	start := binary.LittleEndian.AppendUint32([]byte(magic), Format)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(head)))
	sum := sha256.New()
	parts := [][]byte{start, head, body}
	for _, p := range parts {
		sum.Write(p)
	}
	return append(parts, sum.Sum(nil))
}

// decode reads what encode made of a file that what names.
func decode[H any](magic, what string, b []byte) (head H, body []byte, err error) {
	bad := func(why string) (H, []byte, error) {
		return head, nil, pgerr.New(pgerr.DataCorrupted, "%s is damaged: %s", what, why)
	}
	if len(b) < fixed+sha256.Size || !bytes.HasPrefix(b, []byte(magic)) {
		return bad("it does not begin as such a file does")
	}
	if format := binary.LittleEndian.Uint32(b[len(magic):]); format != Format {
		return head, nil, newer(what, int(format))
	}
	body = b[:len(b)-sha256.Size]
	if sha256.Sum256(body) != [sha256.Size]byte(b[len(body):]) {
		return bad("its checksum is not that of its bytes")
	}
	n := uint64(binary.LittleEndian.Uint32(b[len(magic)+4:]))
	if n > uint64(len(body)-fixed) {
		return bad("its head is longer than the file")
	}
	if head, err = codec.Unmarshal[H](body[fixed : fixed+int(n)]); err != nil {
		return head, nil, pgerr.Wrap(pgerr.DataCorrupted, err, "%s is damaged", what)
	}
	return head, body[fixed+int(n):], nil
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
	return decodeBackup(name, b)
}

// decodeBackup reads a .backup file.
func decodeBackup(name string, b []byte) (*Backup, error) {
	head, state, err := decode[Head](magic, fmt.Sprintf("backup %q", name), b)
	if err != nil {
		return nil, err
	}
	return &Backup{Head: head, Name: name, State: state}, nil
}

// ReadWithin is Read, after charge was called for the memory that it takes.
func (d *Dir) ReadWithin(name string, charge func(int64) error) (*Backup, error) {
	size, err := d.Size(name)
	if err == nil {
		err = charge(2 * size) // while it is read it may be there twice
	}
	if err != nil {
		return nil, err
	}
	return d.Read(name)
}

// Catalog decodes the state, which is the caller's alone, without what ends with sessions.
func (b *Backup) Catalog() (*catalog.State, error) {
	if b.recovered != nil {
		return b.recovered, nil
	}
	s, err := b.whole()
	if err != nil || !b.Whole {
		return s, err
	}
	return catalog.WithoutSessions(s)
}

// whole decodes the state.
func (b *Backup) whole() (s *catalog.State, err error) {
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
// were made no later than asOf, which may be zero; of an archive the state of that very moment, or the newest. read is Read, or one
// that charges memory, as charge does.
func (d *Dir) Choose(ctx context.Context, name string, asOf time.Time, read func(name string) (*Backup, error), charge func(int64) error, want func(Head) bool) (*Backup, error) {
	if name != "" {
		return read(name)
	}
	if !d.owner.IsZero() {
		return d.recover(ctx, asOf, read, charge)
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
