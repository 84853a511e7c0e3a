package observe

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"time"
)

// A node samples its load every Fine and keeps the samples of the last hour, and those of every Coarse
// for the last day. They are on disk, so that they survive a restart:
//
//	header                16 bytes
//	keptFine slots        of Fine, by the time
//	keptCoarse slots      of Coarse
//
// A slot is a sample's numbers, 8 bytes each, and their CRC-32C. The file is written in place and not
// synced: what a crash tears is dropped when it is read.
const (
	Fine       = 10 * time.Second
	Coarse     = 5 * time.Minute
	keptFine   = int(time.Hour / Fine)
	keptCoarse = int(24 * time.Hour / Coarse)

	samplesHeader = "tributary load 1"
	slotBytes     = sampleNumbers*8 + 8
	samplesBytes  = len(samplesHeader) + (keptFine+keptCoarse)*slotBytes
)

// Sample is a node's load over a span of time; rates are per second.
type Sample struct {
	At, Span                   float64 // seconds since 1970, seconds
	CPU                        float64 // cores
	MemoryUsed, MemoryLimit    float64 // bytes
	RSS, Spilled               float64 // bytes, bytes per second
	DiskUsed, DiskFree         float64
	NetworkIn, NetworkOut      float64 // bytes per second
	Statements, Errors         float64 // per second
	P50, P99                   float64 // milliseconds
	Sessions, Queued, reserved float64
}

const sampleNumbers = 18

// numbers are the sample's fields.
func (s *Sample) numbers() [sampleNumbers]*float64 {
	return [...]*float64{&s.At, &s.Span, &s.CPU, &s.MemoryUsed, &s.MemoryLimit, &s.RSS, &s.Spilled, &s.DiskUsed, &s.DiskFree, &s.NetworkIn, &s.NetworkOut,
		&s.Statements, &s.Errors, &s.P50, &s.P99, &s.Sessions, &s.Queued, &s.reserved}
}

// Samples are those of a node. Its methods may be called from any goroutine.
type Samples struct {
	log *slog.Logger

	mu     sync.Mutex
	file   *os.File // nil: they are kept in memory only
	slots  [keptFine + keptCoarse]Sample
	part   []Sample // of the coarse one that is being made
	part99 histogram
}

// OpenSamples reads a file of samples. One that is damaged is begun afresh, and one that cannot be used is
// done without; the log says so.
func OpenSamples(path string, log *slog.Logger) *Samples {
	s := &Samples{log: log}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		log.Warn("the load of this node is kept in memory only", "error", err)
		return s
	}
	s.file = f
	if err := s.read(); err != nil {
		log.Warn("the record of this node's load is damaged and begins afresh", "file", path, "error", err)
		s.slots = [keptFine + keptCoarse]Sample{}
		err := errors.Join(f.Truncate(0), f.Truncate(int64(samplesBytes)))
		if _, werr := f.WriteAt([]byte(samplesHeader), 0); err != nil || werr != nil {
			s.give(errors.Join(err, werr))
		}
	}
	return s
}

var errDamaged = errors.New("it is not what was written")

func (s *Samples) read() error {
	st, err := s.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		if err := s.file.Truncate(int64(samplesBytes)); err != nil {
			return err
		}
		_, err := s.file.WriteAt([]byte(samplesHeader), 0)
		return err
	}
	b := make([]byte, samplesBytes)
	if n, err := s.file.ReadAt(b, 0); n < len(b) || st.Size() != int64(len(b)) || string(b[:len(samplesHeader)]) != samplesHeader {
		return errors.Join(errDamaged, err)
	}
	b = b[len(samplesHeader):]
	torn := 0
	for i := range s.slots {
		slot := b[i*slotBytes:][:slotBytes]
		if !slices.ContainsFunc(slot, func(c byte) bool { return c != 0 }) {
			continue
		}
		if uint64(crc32.Checksum(slot[:slotBytes-8], castagnoli)) != binary.LittleEndian.Uint64(slot[slotBytes-8:]) {
			torn++
			continue
		}
		for j, n := range s.slots[i].numbers() {
			*n = math.Float64frombits(binary.LittleEndian.Uint64(slot[j*8:]))
		}
	}
	if torn > 1 { // a crash tears one
		return errDamaged
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// give goes on without a file; the lock is held, or nobody has the samples yet.
func (s *Samples) give(err error) {
	s.log.Warn("the load of this node is kept in memory only", "error", err)
	if cerr := s.file.Close(); cerr != nil && !errors.Is(cerr, fs.ErrClosed) {
		s.log.Warn("closing the record of this node's load", "error", cerr)
	}
	s.file = nil
}

// Add adds a sample of Fine, and l's counts to it.
func (s *Samples) Add(x Sample, l *Load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latency := l.latency()
	x.setLoad(l.Statements, l.Errors, latency)
	s.put(slotOf(x.At, Fine, keptFine), x)
	if len(s.part) > 0 && int64(s.part[0].At)/int64(Coarse.Seconds()) != int64(x.At)/int64(Coarse.Seconds()) {
		s.part, s.part99 = s.part[:0], histogram{}
	}
	s.part = append(s.part, x)
	s.part99.merge(latency)
	s.put(keptFine+slotOf(x.At, Coarse, keptCoarse), s.coarse())
}

func (x *Sample) setLoad(statements, errs int64, latency *histogram) {
	if x.Span > 0 {
		x.Statements, x.Errors = float64(statements)/x.Span, float64(errs)/x.Span
	}
	x.P50, x.P99 = ms(latency.quantile(0.5)), ms(latency.quantile(0.99))
}

// slotOf is the place of a time in a ring.
func slotOf(at float64, every time.Duration, kept int) int {
	return int(int64(at)/int64(every.Seconds())) % kept
}

// coarse is the mean of the samples of the part, weighed by their spans.
func (s *Samples) coarse() (out Sample) {
	to := out.numbers()
	for i := range s.part {
		x := &s.part[i]
		for j, n := range x.numbers() {
			*to[j] += *n * x.Span
		}
		out.reserved += x.Span
	}
	span := out.reserved
	for _, n := range to {
		*n /= max(span, 1e-9)
	}
	last := s.part[len(s.part)-1]
	out.At, out.Span, out.reserved = last.At, span, 0
	out.P50, out.P99 = ms(s.part99.quantile(0.5)), ms(s.part99.quantile(0.99))
	return out
}

func (s *Samples) put(slot int, x Sample) {
	s.slots[slot] = x
	if s.file == nil {
		return
	}
	b := make([]byte, 0, slotBytes)
	for _, n := range x.numbers() {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*n))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(crc32.Checksum(b, castagnoli)))
	if _, err := s.file.WriteAt(b, int64(len(samplesHeader)+slot*slotBytes)); err != nil {
		s.give(err)
	}
}

// All returns the samples of the last hour and the last day, those of Coarse first, the oldest first.
func (s *Samples) All(now time.Time) (out []Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(list []Sample, since time.Duration) {
		from := len(out)
		for _, x := range list {
			if x.At > 0 && x.At >= float64(now.Add(-since).Unix()) {
				out = append(out, x)
			}
		}
		slices.SortFunc(out[from:], func(a, b Sample) int { return cmp.Compare(a.At, b.At) })
	}
	add(s.slots[keptFine:], 24*time.Hour)
	add(s.slots[:keptFine], time.Hour)
	return out
}

// Close closes the file.
func (s *Samples) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}
