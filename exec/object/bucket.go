package object

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	pathpkg "path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// bucket is a bucket of an S3-compatible store, reached by one access.
type bucket struct {
	core   *minio.Core
	name   string
	access Access
	cache  *Cache // may be nil
}

// Limits of requests. The client repeats a request that failed in a way that may pass (503, 500, timeouts, resets)
// with exponential back-off and jitter.
const (
	requestTries = 6
	// bodyTries is how often the rest of a body that broke off is asked for again without a byte of progress.
	bodyTries = 5
	// longestBody bounds every answer that is not an object's bytes.
	longestBody = 16 << 20
)

// patience is how long a connection may be silent before the request counts as lost. Tests shorten it.
var patience = 20 * time.Second

// shortRest is about how long is waited before the first repetition of a body that broke off.
var shortRest = 200 * time.Millisecond

// client makes a client.
func (a Access) client() (*minio.Core, error) {
	host, tls, err := a.address()
	if err != nil {
		return nil, err
	}
	region := a.Region
	if region == "" && a.Endpoint != "" {
		region = "us-east-1" // what stores other than AWS take; it need not be asked for
	}
	lookup := minio.BucketLookupAuto
	switch a.URLStyle {
	case "path":
		lookup = minio.BucketLookupPath
	case "vhost":
		lookup = minio.BucketLookupDNS
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: patience, ExpectContinueTimeout: 5 * time.Second, DisableCompression: true,
	}
	c, err := minio.NewCore(host, &minio.Options{Creds: a.provider(), Secure: tls, Region: region, BucketLookup: lookup, Transport: bounded{t}, MaxRetries: requestTries})
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid endpoint %q of an object store", a.Endpoint)
	}
	return c, nil
}

// bounded bounds the bodies that are read into memory: all but those of objects.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.Transport.RoundTrip(r)
	if err == nil && (r.Method != http.MethodGet || r.URL.RawQuery != "" || res.StatusCode >= 300) {
		res.Body = http.MaxBytesReader(nil, res.Body, longestBody)
	}
	return res, err
}

func (b *bucket) uri(key string) string { return S3 + b.name + "/" + key }

// key returns the key of a URI, which must be of the bucket.
func (b *bucket) key(uri string) (string, error) {
	name, key, err := split(uri)
	switch {
	case err != nil:
		return "", err
	case name != b.name:
		return "", pgerr.Internal("%q is not of bucket %q", uri, b.name)
	case key == "":
		return "", pgerr.New(pgerr.InvalidParameterValue, "%q names no object", uri).WithHint("Write s3://bucket/key.")
	}
	return key, nil
}

// Stat implements Store.
func (b *bucket) Stat(ctx context.Context, uri string) (Info, error) {
	key, err := b.key(uri)
	if err != nil {
		return Info{}, err
	}
	o, err := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).StatusCode == http.StatusForbidden {
		// The answer to HEAD has no body that would say why.
		opts := minio.GetObjectOptions{}
		_ = opts.SetRange(0, 0)
		body, _, _, gerr := b.core.GetObject(ctx, b.name, key, opts)
		if gerr == nil {
			_ = body.Close()
		} else {
			err = gerr
		}
	}
	if err != nil {
		return Info{}, b.error(ctx, err, "could not open %q for reading", uri)
	}
	return Info{Name: uri, Size: o.Size, Version: o.ETag, Place: b.core.EndpointURL().String()}, nil
}

// List implements Store. A page that was lost is asked for again, from behind the last key.
func (b *bucket) List(ctx context.Context, pattern string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		_, match, err := split(pattern)
		if _, bad := pathpkg.Match(match, ""); err == nil && bad != nil {
			err = badPattern(pattern)
		}
		if err != nil {
			yield(Info{}, err)
			return
		}
		prefix := match
		if i := strings.IndexAny(match, `*?[\`); i >= 0 {
			prefix = match[:i]
		}
		opts := minio.ListObjectsOptions{Prefix: prefix, Recursive: strings.Contains(match[len(prefix):], "/")}
		for tries := 0; ; tries++ {
			lost, stopped := b.list(ctx, &opts, func(o *minio.ObjectInfo) bool {
				tries = 0
				if ok, _ := pathpkg.Match(match, o.Key); !ok || strings.HasSuffix(o.Key, "/") {
					return true
				}
				return yield(Info{Name: b.uri(o.Key), Size: o.Size, Version: o.ETag, Place: b.core.EndpointURL().String()}, nil)
			})
			switch {
			case stopped || lost == nil:
				return
			case tries+1 < bodyTries && torn(lost) && rest(ctx, tries+1):
				continue
			}
			yield(Info{}, b.error(ctx, lost, "could not list %q", pattern))
			return
		}
	}
}

// list calls use for each object; opts then begins behind the last of them.
func (b *bucket) list(ctx context.Context, opts *minio.ListObjectsOptions, use func(*minio.ObjectInfo) bool) (lost error, stopped bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.core.ListObjectsIter(ctx, b.name, *opts) {
		if o.Err != nil {
			return o.Err, false
		}
		opts.StartAfter = o.Key
		if !use(&o) {
			return nil, true
		}
	}
	return ctx.Err(), false
}

// torn reports whether an error is of a body that broke off, or of a connection: not the server's own word.
func torn(err error) bool {
	var said minio.ErrorResponse
	return !errors.As(err, &said) && !errors.Is(err, context.Canceled)
}

// Remove implements Store.
func (b *bucket) Remove(ctx context.Context, uri string) error {
	key, err := b.key(uri)
	if err != nil {
		return err
	}
	err = b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return b.error(ctx, err, "could not remove %q", uri)
	}
	return nil
}

// error words an error of a request. It has the server's reason, and nothing of the request.
func (b *bucket) error(ctx context.Context, err error, doing string, uri string) error {
	var known *pgerr.Error
	switch {
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	of := "the credentials of the node"
	if b.access.Who != "" {
		of = "secret " + strings.SplitN(b.access.Who, "\x00", 2)[0]
	}
	said := minio.ToErrorResponse(err)
	switch said.Code {
	case minio.NoSuchKey, "NotFound":
		return pgerr.New(pgerr.UndefinedFile, doing+": No such object", uri)
	case minio.NoSuchBucket:
		return pgerr.New(pgerr.UndefinedFile, doing+": No such bucket", uri)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired", "AuthorizationHeaderMalformed":
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, doing+": the store refuses the key (%s)", uri, said.Code).
			WithHint("The request was made with %s.", of)
	case minio.AccessDenied, "Forbidden":
		return pgerr.New(pgerr.InsufficientPrivilege, doing+": the store denies access", uri).WithHint("The request was made with %s.", of)
	case minio.PreconditionFailed:
		return changed(uri)
	case "":
		return pgerr.Wrap(pgerr.IOError, err, doing+": the store cannot be reached", uri).WithHint("The endpoint is %s.", b.core.EndpointURL().Host)
	}
	return pgerr.New(pgerr.IOError, doing+": the store answers %d %s", uri, said.StatusCode, said.Code).WithHint("The endpoint is %s.", b.core.EndpointURL().Host)
}

// changed is the error of an object that has other bytes than when the statement began.
func changed(uri string) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%q has changed while it was read", uri).WithHint("Run the statement again.")
}
