package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Leaser is a store of which somebody can take a name for themselves while they live.
type Leaser interface {
	// Lease takes a name, or fails with ErrLeased where its holder lives. It waits for the end of one that nobody renews.
	Lease(ctx context.Context, name string) (Lease, error)
	// Peek returns a text that Swap has written, and a tag of this state of it; a tag of "" is that there is none.
	Peek(ctx context.Context, name string) (text, tag string, err error)
	// Swap writes a short text in place of the state of a tag, "" for none, and returns the new one's, or fails with ErrLeased
	// where there is another. The text must be unlike any that another writes.
	Swap(ctx context.Context, name, text, tag string) (string, error)
}

// Lease is a name that somebody has. It is renewed until Release.
type Lease interface {
	// Held fails where another may have it by now.
	Held() error
	// Release gives it back, and fails as Held does.
	Release() error
}

// ErrLeased reports a name that another has.
var ErrLeased = errors.New("another has the lease")

// leaseTime is after how long a lease that is not renewed counts as left by a process that is dead.
var leaseTime = 30 * time.Second // a variable for tests

// leaseRenewals is how often a lease is renewed in that time.
const leaseRenewals = 6

// lease is a lease that is held, or to be taken.
type lease struct {
	b        *bucket
	uri, key string
	id       string // of the holder
	etag     string // of the object as the holder has written it last, or as it is to be replaced

	ctx  context.Context
	stop context.CancelFunc // of the renewals
	done chan struct{}      // they have ended

	mu    sync.Mutex
	since time.Time // when the last renewal that succeeded was begun
	lost  bool      // another has it
}

// Lease implements Leaser by an object that is made only where there is none, and renewed and taken over only in the
// state that was seen (If-None-Match, If-Match). A store that ignores conditions gives a lease to everybody.
func (b *bucket) Lease(ctx context.Context, uri string) (Lease, error) {
	key, err := b.key(uri)
	if err != nil {
		return nil, err
	}
	l := &lease{b: b, uri: uri, key: key, id: rand.Text()}
	for err = l.put(ctx); errors.Is(err, ErrLeased); err = l.put(ctx) {
		if l.etag, err = l.await(ctx); errors.Is(err, ErrLeased) {
			return nil, err
		} else if err != nil {
			break
		}
	}
	if err != nil {
		return nil, b.error(ctx, err, "could not write %q", uri)
	}
	l.done = make(chan struct{})
	l.ctx, l.stop = context.WithCancel(ctx)
	go l.renew()
	return l, nil
}

// put writes the lease in place of the state that was seen last, or that an earlier put left whose answer was lost.
func (l *lease) put(ctx context.Context) error {
	began := time.Now()
	text := l.id + " " + began.Add(leaseTime).UTC().Format(time.RFC3339Nano) + "\n"
	etag, err := l.b.swap(ctx, l.key, text, l.etag)
	if errors.Is(err, ErrLeased) {
		if old, there, rerr := l.b.leased(ctx, l.key); rerr == nil && strings.HasPrefix(there, l.id+" ") {
			etag, err = l.b.swap(ctx, l.key, text, old)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.etag, l.since = etag, began
	}
	l.lost = errors.Is(err, ErrLeased)
	return err
}

// await waits for the end of another's lease, and returns the state that it has left, "" for none. It fails with ErrLeased as
// soon as that is renewed. Clocks may differ: one that is not renewed for as long as it lasts has ended, whatever it says.
func (l *lease) await(ctx context.Context) (etag string, err error) {
	began := time.Now()
	for seen := ""; ; seen = etag {
		var text string
		etag, text, err = l.b.leased(ctx, l.key)
		if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
			return "", nil
		}
		if err == nil && seen != "" && etag != seen {
			err = ErrLeased
		}
		if err != nil {
			return "", err
		}
		until, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text[strings.IndexByte(text, ' ')+1:]))
		left := min(time.Until(until), leaseTime-time.Since(began))
		if err != nil || left <= 0 {
			return etag, nil
		}
		t := time.NewTimer(min(left, 2*leaseTime/leaseRenewals))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return "", context.Cause(ctx)
		}
	}
}

// renew renews the lease until it is released, or lost.
func (l *lease) renew() {
	defer close(l.done)
	t := time.NewTicker(leaseTime / leaseRenewals)
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-t.C:
			one, cancel := context.WithTimeout(l.ctx, 2*leaseTime/leaseRenewals)
			err := l.put(one)
			if cancel(); errors.Is(err, ErrLeased) {
				return
			}
		}
	}
}

// Held implements Lease: it is sure until one renewal before the lease's end.
func (l *lease) Held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost || time.Since(l.since) > leaseTime-leaseTime/leaseRenewals {
		return pgerr.New(pgerr.ObjectInUse, "%q could not be renewed in time: another may have taken it over", l.uri)
	}
	return nil
}

// Release implements Lease. What may be another's by now stays.
func (l *lease) Release() error {
	l.stop()
	<-l.done
	if err := l.Held(); err != nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), abortTime)
	defer cancel()
	return l.b.Remove(last, l.uri)
}

// Peek implements Leaser.
func (b *bucket) Peek(ctx context.Context, uri string) (text, tag string, err error) {
	key, err := b.key(uri)
	if err != nil {
		return "", "", err
	}
	tag, text, err = b.leased(ctx, key)
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return "", "", nil
	}
	if err != nil {
		return "", "", b.error(ctx, err, "could not read %q", uri)
	}
	return text, tag, nil
}

// Swap implements Leaser.
func (b *bucket) Swap(ctx context.Context, uri, text, tag string) (string, error) {
	key, err := b.key(uri)
	if err != nil {
		return "", err
	}
	tag, err = b.swap(ctx, key, text, tag)
	if err != nil && !errors.Is(err, ErrLeased) {
		err = b.error(ctx, err, "could not write %q", uri)
	}
	return tag, err
}

func (b *bucket) swap(ctx context.Context, key, text, etag string) (string, error) {
	opts := whole()
	if etag == "" {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(etag)
	}
	up, err := b.core.PutObject(ctx, b.name, key, strings.NewReader(text), int64(len(text)), "", sum([]byte(text)), opts)
	if err == nil {
		return up.ETag, nil
	}
	if code := minio.ToErrorResponse(err).Code; code != minio.PreconditionFailed && code != "ConditionalRequestConflict" && code != minio.NoSuchKey {
		return "", err
	}
	// Where only an answer was lost, the request that was repeated finds what the first has written.
	if etag, there, err := b.leased(ctx, key); err == nil && there == text {
		return etag, nil
	}
	return "", ErrLeased
}

// leased returns what a lease says, and in which state. It asks again where the answer breaks off.
func (b *bucket) leased(ctx context.Context, key string) (etag, text string, err error) {
	for tries := 1; ; tries++ {
		if etag, text, err = b.askLeased(ctx, key); err == nil || !torn(err) || tries >= bodyTries || !rest(ctx, tries) {
			return etag, text, err
		}
	}
}

func (b *bucket) askLeased(ctx context.Context, key string) (etag, text string, err error) {
	body, o, _, err := b.core.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		return "", "", err
	}
	defer body.Close()
	var buf bytes.Buffer
	_, err = io.Copy(&buf, io.LimitReader(body, 256))
	return o.ETag, buf.String(), err
}

// Uncached returns a store that leaves the cache alone, for what is read once.
func Uncached(s Store) Store {
	if b, ok := s.(*bucket); ok {
		plain := *b
		plain.cache = nil
		return &plain
	}
	return s
}
