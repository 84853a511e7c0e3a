package s3test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// KeyID and Secret are those that a new server takes.
const (
	KeyID  = "AKIATEST"
	Secret = "hunter2/hunter2"
)

// Fault is what becomes of a request.
type Fault int

// The faults.
const (
	None   Fault = iota
	Busy         // 503 SlowDown
	Torn         // half of the body, then the end of the connection
	Reset        // no answer at all
	Silent       // headers and half of the body, then nothing until the client gives up
	Lost         // the request is carried out, and its answer is lost
	Slow         // the answer comes late
)

// slow is how late.
const slow = 300 * time.Millisecond

// Server is a store. Its fields may be set before requests; its methods may be called at any time.
type Server struct {
	*httptest.Server
	// Fault says what becomes of a request; nil: nothing bad.
	Fault func(r *http.Request) Fault

	mu      sync.Mutex
	keys    map[string]string // secrets by id
	buckets map[string]map[string]*Object
	sorted  map[string][]string // keys of buckets; nil after a change
	uploads map[string]map[int][]byte
	next    int
	counts  map[string]int
}

// Object is an object.
type Object struct {
	Data     []byte
	ETag     string
	Modified time.Time
}

// New starts a server with buckets, which ends with the test.
func New(t testing.TB, buckets ...string) *Server {
	s := Start(buckets...)
	t.Cleanup(s.End)
	return s
}

// Start starts a server with buckets.
func Start(buckets ...string) *Server {
	s := &Server{keys: map[string]string{KeyID: Secret}, buckets: map[string]map[string]*Object{}, sorted: map[string][]string{}, uploads: map[string]map[int][]byte{}, counts: map[string]int{}}
	for _, b := range buckets {
		s.buckets[b] = map[string]*Object{}
	}
	s.Server = httptest.NewServer(s)
	return s
}

// End ends the server, also in the middle of requests.
func (s *Server) End() {
	s.CloseClientConnections()
	s.Close()
}

// Put stores an object.
func (s *Server) Put(bucket, key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(bucket, key, data, fmt.Sprintf("%x", md5.Sum(data)))
}

func (s *Server) put(bucket, key string, data []byte, etag string) {
	if s.buckets[bucket][key] == nil {
		delete(s.sorted, bucket)
	}
	s.buckets[bucket][key] = &Object{data, etag, time.Now().UTC()}
}

// Get returns an object; nil if there is none.
func (s *Server) Get(bucket, key string) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buckets[bucket][key]
}

// Keys lists a bucket's.
func (s *Server) Keys(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.buckets[bucket]))
}

// Uploads returns how many uploads are neither complete nor aborted.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Count returns how many requests of a method there were.
func (s *Server) Count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// answer is a response before it is sent, or broken.
type answer struct {
	status int
	head   http.Header
	body   []byte
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.counts[r.Method]++
	fault := None
	if s.Fault != nil {
		fault = s.Fault(r)
	}
	var a answer
	switch {
	case fault == Busy:
		a = failure(503, "SlowDown")
	case fault == Reset:
	default:
		if code := s.refused(r, body); code != "" {
			a = failure(403, code)
		} else {
			a = s.serve(r, body)
		}
	}
	s.mu.Unlock()
	if fault == Reset || fault == Lost {
		panic(http.ErrAbortHandler)
	}
	if fault == Slow {
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
		}
	}
	for k, v := range a.head {
		w.Header()[k] = v
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return
	}
	if fault == Torn || fault == Silent {
		_, _ = w.Write(a.body[:len(a.body)/2])
		_ = http.NewResponseController(w).Flush()
		if fault == Silent {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(a.body)
}

func failure(status int, code string) answer {
	return answer{status, http.Header{"Content-Type": {"application/xml"}}, fmt.Appendf(nil, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>", code)}
}

func document(v any) answer {
	b, _ := xml.Marshal(v)
	return answer{200, http.Header{"Content-Type": {"application/xml"}}, append([]byte(xml.Header), b...)}
}

// serve carries out a request; the caller holds mu.
func (s *Server) serve(r *http.Request, body []byte) answer {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	objects, q := s.buckets[bucket], r.URL.Query()
	if objects == nil {
		return failure(404, "NoSuchBucket")
	}
	o := objects[key]
	upload := q.Get("uploadId")
	switch {
	case r.Method == http.MethodGet && q.Get("list-type") == "2":
		return s.list(bucket, q)
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.next++
		id := strconv.Itoa(s.next)
		s.uploads[id] = map[int][]byte{}
		return document(struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			Bucket   string
			Key      string
			UploadID string `xml:"UploadId"`
		}{Bucket: bucket, Key: key, UploadID: id})
	case upload != "" && s.uploads[upload] == nil:
		return failure(404, "NoSuchUpload")
	case r.Method == http.MethodPut && upload != "":
		n, _ := strconv.Atoi(q.Get("partNumber"))
		s.uploads[upload][n] = body
		return answer{200, http.Header{"Etag": {fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(body)))}}, nil}
	case r.Method == http.MethodDelete && upload != "":
		delete(s.uploads, upload)
		return answer{204, nil, nil}
	case r.Method == http.MethodPost && upload != "":
		return s.complete(bucket, key, upload)
	case r.Method == http.MethodPut:
		if m := r.Header.Get("If-None-Match"); m == "*" && o != nil {
			return failure(412, "PreconditionFailed")
		}
		if m := strings.Trim(r.Header.Get("If-Match"), `"`); m != "" && (o == nil || o.ETag != m) {
			return failure(412, "PreconditionFailed")
		}
		s.put(bucket, key, body, fmt.Sprintf("%x", md5.Sum(body)))
		return answer{200, http.Header{"Etag": {strconv.Quote(objects[key].ETag)}}, nil}
	case r.Method == http.MethodDelete:
		delete(objects, key)
		delete(s.sorted, bucket)
		return answer{204, nil, nil}
	case o == nil:
		return failure(404, "NoSuchKey")
	}
	if m := strings.Trim(r.Header.Get("If-Match"), `"`); m != "" && o.ETag != m {
		return failure(412, "PreconditionFailed")
	}
	head := http.Header{"Etag": {strconv.Quote(o.ETag)}, "Last-Modified": {o.Modified.Format(http.TimeFormat)}, "Accept-Ranges": {"bytes"}, "Content-Type": {"application/octet-stream"}}
	from, to, status := 0, len(o.Data), 200
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
		if from >= len(o.Data) {
			return failure(416, "InvalidRange")
		}
		to, status = min(to+1, len(o.Data)), 206
		head.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(o.Data)))
	}
	head.Set("Content-Length", strconv.Itoa(to-from))
	return answer{status, head, o.Data[from:to]}
}

func (s *Server) complete(bucket, key, upload string) answer {
	parts := s.uploads[upload]
	var all []byte
	sums := md5.New()
	for _, n := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, parts[n]...)
		one := md5.Sum(parts[n])
		sums.Write(one[:])
	}
	delete(s.uploads, upload)
	etag := hex.EncodeToString(sums.Sum(nil)) + "-" + strconv.Itoa(len(parts))
	s.put(bucket, key, all, etag)
	return document(struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket  string
		Key     string
		ETag    string
	}{Bucket: bucket, Key: key, ETag: etag})
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

func (s *Server) list(bucket string, q url.Values) answer {
	keys := s.sorted[bucket]
	if keys == nil {
		keys = slices.Sorted(maps.Keys(s.buckets[bucket]))
		s.sorted[bucket] = keys
	}
	prefix, delimiter := q.Get("prefix"), q.Get("delimiter")
	after := max(q.Get("start-after"), q.Get("continuation-token"))
	i, found := slices.BinarySearch(keys, max(prefix, after))
	if found && keys[i] == after {
		i++
	}
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name                  string
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []listed
		CommonPrefixes        []struct{ Prefix string }
	}
	out.Name, out.EncodingType = bucket, "url"
	for ; i < len(keys) && strings.HasPrefix(keys[i], prefix); i++ {
		if len(out.Contents) == 1000 {
			out.IsTruncated, out.NextContinuationToken = true, keys[i-1]
			break
		}
		if delimiter != "" && strings.Contains(keys[i][len(prefix):], delimiter) {
			continue // no test looks at prefixes
		}
		o := s.buckets[bucket][keys[i]]
		out.Contents = append(out.Contents, listed{url.QueryEscape(keys[i]), o.Modified.Format("2006-01-02T15:04:05.000Z"), strconv.Quote(o.ETag), len(o.Data)})
	}
	return document(out)
}
