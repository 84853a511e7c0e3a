package object

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Store holds files by name. Names are as statements have them: paths of the server, or URIs. Its methods may be
// called from any goroutine.
type Store interface {
	// Stat describes a file.
	Stat(ctx context.Context, name string) (Info, error)
	// List describes the files that a pattern matches, as path.Match does, in the order of their bytes or of
	// directories. It holds no more than a page of them. An error ends it.
	List(ctx context.Context, pattern string) iter.Seq2[Info, error]
	// Open opens the state of a file that was listed. Reads end with ctx.
	Open(ctx context.Context, f Info) (File, error)
	// Create begins to write a file in place of what is there.
	Create(ctx context.Context, name string, charge Charge) (Writer, error)
	// Remove removes a file. One that is not there is no error.
	Remove(ctx context.Context, name string) error
}

// Info is what a store says of a file.
type Info struct {
	Name string
	Size int64
	// Version is another once the bytes are: an etag, or the time of the last write.
	Version string
	// Place tells files of the same name apart: an endpoint. It is "" for the server's disks.
	Place string
}

// File is a file that is open for reading at any place.
type File interface {
	io.Reader
	io.Seeker
	io.ReaderAt
	io.Closer
	// Prefetch begins to read ranges that will be asked for. It allocates nothing that is not charged, and may do
	// nothing.
	Prefetch(ranges ...Range)
}

// Range is a part of a file.
type Range struct{ From, To int64 }

// Writer writes a file. Commit or Abort must be called: a file in a bucket is not there until Commit returns, and
// never is after Abort.
type Writer interface {
	io.Writer
	Commit() error
	Abort()
}

// Charge is called before memory is allocated, and with a negative number when it is released.
type Charge func(bytes int64) error

// Scheme returns the scheme of a URI; "" for a path of the server, file:// included.
func Scheme(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || scheme == "file" || scheme == "" || strings.ContainsAny(scheme, "/*?[") {
		return ""
	}
	return scheme
}

// Remote reports whether a name is one of another place than the server's disks.
func Remote(name string) bool { return Scheme(name) != "" }

// S3 begins the URIs of objects in buckets.
const S3 = "s3://"

// split returns bucket and key of an s3:// URI.
func split(uri string) (bucket, key string, err error) {
	scheme := Scheme(uri)
	if scheme != "s3" {
		return "", "", pgerr.Unsupported("%s:// is not supported", scheme).WithHint("Files are read from and written to paths of the server, and s3://bucket/key.")
	}
	bucket, key, _ = strings.Cut(strings.TrimPrefix(uri, S3), "/")
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return "", "", pgerr.New(pgerr.InvalidParameterValue, "%q names no bucket: %v", uri, err).WithHint("Write s3://bucket/key.")
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." { // what lies between might take them for directories, and go beyond a secret's scope
			return "", "", pgerr.New(pgerr.InvalidParameterValue, "%q has a part %q", uri, part)
		}
	}
	return bucket, key, nil
}

// Pattern reports whether a name may match several files.
func Pattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// Find describes the files of a pattern, or the one file of a name.
func Find(ctx context.Context, s Store, name string) iter.Seq2[Info, error] {
	if Pattern(name) {
		return s.List(ctx, name)
	}
	return func(yield func(Info, error) bool) { yield(s.Stat(ctx, name)) }
}
