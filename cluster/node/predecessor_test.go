package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestPredecessor opens the directory of a node that a build before this one wrote, and which was killed
// while it trained two models. Its rows, models and trainings are all there: the models have their
// bytes, and the trainings, continued from their checkpoints, the models that they would have had.
//
// A change of a format adds the directory of the last build that wrote the one before, named after
// its version: made by the statements in directories/made.sql, and a kill.
func TestPredecessor(t *testing.T) {
	dirs, err := filepath.Glob("testdata/directories/*.tar.gz")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var log lockedBuffer
			n := start(t, 1, func(o *Options) {
				unpack(t, dir, o.Data)
				if err := os.WriteFile(filepath.Join(o.Data, raftnode.SecretFile), []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
					t.Fatal(err)
				}
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
			})[0]
			c := connect(t, n)
			for _, x := range []struct{ sql, want string }{
				{"select count(*), sum(price), min(at), max(doc::text) from p", "1490|1388705.75|2024-01-01 01:00:00+00|{\"n\": 9}"},
				{"select id, name, price, tags from p where name = 'name 14'", "14|name 14|18.50|{a,14}"},
				{"select count(*), sum(pid), sum(twice), max(id) from c", "50|1275|2550|50"},
				{"select count(*), sum(price) from v", "9|57.25"},
				{"insert into c (pid) values (7) returning id, twice", "51|14"},
				{"select has_table_privilege('reader', 'p', 'select'), has_table_privilege('reader', 'c', 'select')", "t|f"},
				{"select string_agg(name || ' ' || substr(sha256, 1, 16), ', ' order by name) from ml.models where name like 'm%'",
					"m_kmeans 24ad08cd4721f5c3, m_logistic 3fda6654969780b3, m_mlp f6d9e659545c3562, m_pca 2ca32b94763bc113, m_ridge d154527bf1a893c8, m_trees 0a343d2266dc367d"},
				{"select predict('m_trees', x0 => 0.5, x1 => -1, x2 => 2, x3 => 0, x4 => 1), predict('m_kmeans', x0 => 0.5, x1 => -1, x2 => 2, y => 1)", "0|2"},
			} {
				if got := strings.Join(c.must(x.sql), " "); got != x.want {
					t.Errorf("%s\ngot  %s\nwant %s", x.sql, got, x.want)
				}
			}
			for model, want := range map[string]string{"r_mlp": "248cf8f5a84a640c", "r_trees": "d180ff3267cddbdd"} {
				if _, err := c.do("resume training " + model); err != nil && !pgerr.Is(err, pgerr.UndefinedObject) { // it has ended by now
					t.Error(err)
				}
				if got := c.must("select substr(sha256, 1, 16) from ml.models where name = '" + model + "'"); !slices.Equal(got, []string{want}) {
					t.Errorf("model %s: %v, not %s", model, got, want)
				}
			}
			if strings.Contains(log.String(), "starts anew") {
				t.Error("a training did not continue from its checkpoint:", log.String())
			}
		})
	}
}

// lockedBuffer is a buffer that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// unpack unpacks an archive of files.
func unpack(t *testing.T, path, to string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(to, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(name, fs.ModePerm)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
