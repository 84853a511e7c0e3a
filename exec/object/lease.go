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

// Lease implements Leaser by an object that is made only where there is none, and renewed and taken over only in the
// state that was seen (If-None-Match, If-Match). A store that ignores conditions gives a lease to everybody.
func (b *bucket) Lease(ctx context.Context, uri string) (func() error, error) {
	key, err := b.key(uri)
	if err != nil {
		return nil, err
	}
	id := rand.Text()
	put := func(ctx context.Context, condition func(*minio.PutObjectOptions)) (etag string, err error) {
		text := id + " " + time.Now().Add(leaseTime).UTC().Format(time.RFC3339) + "\n"
		opts := whole()
		condition(&opts)
		up, err := b.core.PutObject(ctx, b.name, key, strings.NewReader(text), int64(len(text)), "", sum([]byte(text)), opts)
		switch minio.ToErrorResponse(err).Code {
		case minio.PreconditionFailed, "ConditionalRequestConflict":
			return "", ErrLeased
		}
		return up.ETag, err
	}
	etag, err := put(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
	if errors.Is(err, ErrLeased) {
		old, text, rerr := b.leased(ctx, key)
		until, perr := time.Parse(time.RFC3339, strings.TrimSpace(text[strings.IndexByte(text, ' ')+1:]))
		switch {
		case rerr == nil && strings.HasPrefix(text, id+" "): // only the answer was lost
			return b.keep(ctx, uri, old, put), nil
		case rerr != nil || perr == nil && time.Now().Before(until):
			return nil, ErrLeased
		}
		etag, err = put(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETag(old) })
	}
	switch {
	case errors.Is(err, ErrLeased):
		return nil, err
	case err != nil:
		return nil, b.error(ctx, err, "could not write %q", uri)
	}
	return b.keep(ctx, uri, etag, put), nil
}

// keep renews a lease until it is released.
func (b *bucket) keep(ctx context.Context, uri, etag string, put func(context.Context, func(*minio.PutObjectOptions)) (string, error)) (release func() error) {
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
				next, err := put(renew, func(o *minio.PutObjectOptions) { o.SetMatchETag(etag) })
				if errors.Is(err, ErrLeased) {
					done <- pgerr.New(pgerr.ObjectInUse, "%q was taken over by another", uri)
					return
				}
				if err == nil {
					etag = next
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
		return b.Remove(last, uri)
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
