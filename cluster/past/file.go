package past

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// A file is a header and either a state, compressed, or records of commits.
//
//	header   magic, format, cluster, version and time of the state with which it begins, bytes of that state; CRC-32C
//	record   bytes of the rest, CRC-32C of the rest, version before, version, time, the command
const (
	magic      = "TRIBPAST"
	format     = 1
	headerSize = len(magic) + 4 + 16 + 8 + 8 + 8 + 4
	recordHead = 8
	recordSize = recordHead + 24
	maxRecord  = 64 << 20
	maxState   = 4 << 30

	stateEnd   = ".state"
	commitsEnd = ".commits"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what a file begins with.
type header struct {
	cluster catalog.ClusterID
	version uint64
	micros  int64
	raw     int64 // bytes of the encoded state
}

// headerOf is the header of a file that begins with a state, of a cluster's history: its first state has no id yet.
func headerOf(s *catalog.State, of catalog.ClusterID) header {
	h := header{cluster: of, version: s.Version()}
	if t := s.Time(); !t.IsZero() {
		h.micros = t.UnixMicro()
	}
	return h
}

func (h header) append(b []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint32(append(b, magic...), format)
	b = append(b, h.cluster[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.micros))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.raw))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

var errTorn = errors.New("a file of the past is torn")

func readHeader(r io.Reader) (h header, err error) {
	b := make([]byte, headerSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return h, errTorn
	}
	le := binary.LittleEndian
	if !bytes.HasPrefix(b, []byte(magic)) || le.Uint32(b[len(magic):]) != format || le.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) {
		return h, errTorn
	}
	at := len(magic) + 4
	copy(h.cluster[:], b[at:])
	h.version, h.micros, h.raw = le.Uint64(b[at+16:]), int64(le.Uint64(b[at+24:])), int64(le.Uint64(b[at+32:]))
	return h, nil
}

// file is one of the directory.
type file struct {
	header
	path  string
	state bool // else commits
	bytes int64
}

func nameOf(version uint64, end string) string {
	s := strconv.FormatUint(version, 10)
	return strings.Repeat("0", 20-len(s)) + s + end
}

// Record is a commit as files have it.
type Record struct {
	Before, Version uint64 // of the states before and after it
	Micros          int64  // State.Time after it, in Unix µs
	Command         []byte // of package meta
}

// Changes decodes the commit. The changes keep bytes of Command.
func (r Record) Changes() ([]catalog.Change, error) {
	cmd, err := meta.ReadCommand(r.Command)
	if err != nil {
		return nil, err
	}
	changes, _ := cmd.Changes()
	return changes, nil
}

// Apply returns the state after the commit, which keeps bytes of Command.
func (r Record) Apply(s *catalog.State) (*catalog.State, error) {
	if r.Before != s.Version() {
		return nil, pgerr.New(pgerr.DataCorrupted, "the commit of version %d follows version %d, not %d", r.Version, r.Before, s.Version())
	}
	changes, err := r.Changes()
	if err != nil {
		return nil, err
	}
	after, _, err := catalog.CommitAt(s, r.Version, r.Micros, changes)
	return after, err
}

// Append appends the encoded record.
func (r Record) Append(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = binary.LittleEndian.AppendUint64(b, r.Before)
	b = binary.LittleEndian.AppendUint64(b, r.Version)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Micros))
	b = append(b, r.Command...)
	rest := b[at+recordHead:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(rest)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(rest, castagnoli))
	return b
}

// ReadRecord reads a record into buf, which it returns. It fails at the end of what can be read.
func ReadRecord(r io.Reader, buf []byte) (Record, []byte, error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Record{}, buf, errTorn
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < recordSize-recordHead || n > maxRecord {
		return Record{}, buf, errTorn
	}
	if cap(buf) < int(n) {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil || crc32.Checksum(buf, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return Record{}, buf, errTorn
	}
	le := binary.LittleEndian
	return Record{le.Uint64(buf), le.Uint64(buf[8:]), int64(le.Uint64(buf[16:])), buf[24:]}, buf, nil
}

// writeState writes a state to a file, which is there in full or not at all.
func writeState(files disk.FS, dir string, s *catalog.State, of catalog.ClusterID) (*file, error) {
	b, err := s.MarshalBinary()
	if err != nil {
		return nil, err
	}
	h := headerOf(s, of)
	h.raw = int64(len(b))
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	out := enc.EncodeAll(b, h.append(nil))
	f := &file{header: h, path: filepath.Join(dir, nameOf(h.version, stateEnd)), state: true, bytes: int64(len(out))}
	temp := f.path + ".tmp"
	_ = files.Remove(temp)
	w, err := files.Create(temp)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(out)
	if err = errors.Join(err, w.Close()); err == nil {
		err = files.Rename(temp, f.path)
	}
	if err != nil {
		_ = files.Remove(temp)
		return nil, err
	}
	return f, nil
}

// readState reads what writeState wrote.
func readState(files disk.FS, f *file) (*catalog.State, error) {
	bad := func() error { return pgerr.New(pgerr.DataCorrupted, "a state of the past cannot be read") }
	r, err := files.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := readHeader(r)
	if err != nil || h.raw < 0 || h.raw > maxState {
		return nil, bad()
	}
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxState))
	if err != nil {
		return nil, bad()
	}
	defer dec.Close()
	var b bytes.Buffer
	b.Grow(int(h.raw))
	if _, err := io.Copy(&b, io.LimitReader(dec, h.raw+1)); err != nil || int64(b.Len()) != h.raw {
		return nil, bad()
	}
	s, err := catalog.UnmarshalState(b.Bytes())
	if err != nil || s.Version() != h.version {
		return nil, bad()
	}
	return s, nil
}
