package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Leaser is a store of which somebody can take a name for themselves while they live.
type Leaser interface {
	// Lease takes a name, or fails with ErrLeased. It is kept until release, which fails where it was lost meanwhile.
	Lease(ctx context.Context, name string) (release func() error, err error)
}

// ErrLeased reports a name that another has.
var ErrLeased = errors.New("another has the lease")

// leaseTime is after how long a lease counts as left by a process that is dead; it is renewed in a fifth of it.
const leaseTime = 5 * time.Minute

// lease is a lease that is held, or to be taken.
type lease struct {
	b        *bucket
	uri, key string
	id       string // of the holder
	etag     string // of the object as the holder has written it last
}

// Lease implements Leaser by an object that is made only where there is none, and renewed and taken over only in the
// state that was seen (If-None-Match, If-Match). A store that ignores conditions gives a lease to everybody.
func (b *bucket) Lease(ctx context.Context, uri string) (func() error, error) {
	key, err := b.key(uri)
	if err != nil {
		return nil, err
	}
	l := &lease{b: b, uri: uri, key: key, id: rand.Text()}
	err = l.put(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
	if errors.Is(err, ErrLeased) {
		old, text, rerr := b.leased(ctx, key)
		until, perr := time.Parse(time.RFC3339, strings.TrimSpace(text[strings.IndexByte(text, ' ')+1:]))
		if rerr != nil || perr == nil && time.Now().Before(until) {
			return nil, ErrLeased
		}
		err = l.put(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETag(old) })
	}
	switch {
	case errors.Is(err, ErrLeased):
		return nil, err
	case err != nil:
		return nil, b.error(ctx, err, "could not write %q", uri)
	}
	return l.keep(ctx), nil
}

// put writes the lease on a condition; ErrLeased is that another's is there.
func (l *lease) put(ctx context.Context, condition func(*minio.PutObjectOptions)) error {
	text := l.id + " " + time.Now().Add(leaseTime).UTC().Format(time.RFC3339) + "\n"
	opts := whole()
	condition(&opts)
	up, err := l.b.core.PutObject(ctx, l.b.name, l.key, strings.NewReader(text), int64(len(text)), "", sum([]byte(text)), opts)
	if err == nil {
		l.etag = up.ETag
		return nil
	}
	if code := minio.ToErrorResponse(err).Code; code != minio.PreconditionFailed && code != "ConditionalRequestConflict" {
		return err
	}
	// Where only an answer was lost, the request that was repeated finds what the first has written.
	if etag, text, err := l.b.leased(ctx, l.key); err == nil && strings.HasPrefix(text, l.id+" ") {
		l.etag = etag
		return nil
	}
	return ErrLeased
}

// keep renews the lease until it is released.
func (l *lease) keep(ctx context.Context) (release func() error) {
	renew, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		t := time.NewTicker(leaseTime / 5)
		defer t.Stop()
		for {
			select {
			case <-renew.Done():
				done <- nil
				return
			case <-t.C:
				if errors.Is(l.put(renew, func(o *minio.PutObjectOptions) { o.SetMatchETag(l.etag) }), ErrLeased) {
					done <- pgerr.New(pgerr.ObjectInUse, "%q was taken over by another", l.uri)
					return
				}
			}
		}
	}()
	return func() error {
		stop()
		if err := <-done; err != nil {
			return err
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
		defer cancel()
		return l.b.Remove(last, l.uri)
	}
}

// leased returns what a lease says, and in which state.
func (b *bucket) leased(ctx context.Context, key string) (etag, text string, err error) {
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
