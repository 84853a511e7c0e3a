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
	// Peek returns a text that Swap has written, and a tag of this state of it; a tag of "" is that there is none.
	Peek(ctx context.Context, name string) (text, tag string, err error)
	// Swap writes a short text in place of the state of a tag, "" for none, and returns the new one's, or fails with ErrLeased
	// where there is another. The text must be unlike any that another writes.
	Swap(ctx context.Context, name, text, tag string) (string, error)
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
	err = l.put(ctx)
	if errors.Is(err, ErrLeased) {
		old, text, rerr := b.leased(ctx, key)
		until, perr := time.Parse(time.RFC3339, strings.TrimSpace(text[strings.IndexByte(text, ' ')+1:]))
		if rerr != nil || perr == nil && time.Now().Before(until) {
			return nil, ErrLeased
		}
		l.etag = old
		err = l.put(ctx)
	}
	switch {
	case errors.Is(err, ErrLeased):
		return nil, err
	case err != nil:
		return nil, b.error(ctx, err, "could not write %q", uri)
	}
	return l.keep(ctx), nil
}

// put writes the lease in place of the state that was seen last.
func (l *lease) put(ctx context.Context) error {
	etag, err := l.b.swap(ctx, l.key, l.id+" "+time.Now().Add(leaseTime).UTC().Format(time.RFC3339)+"\n", l.etag)
	if err == nil {
		l.etag = etag
	}
	return err
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
				if errors.Is(l.put(renew), ErrLeased) {
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
