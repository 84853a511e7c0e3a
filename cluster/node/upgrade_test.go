package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// fromVersion1 has the first node begin with the directory of a program of version 1.
func fromVersion1(t *testing.T) func(*Options) {
	return func(o *Options) {
		if o.Name == "n1" {
			unpack(t, "testdata/directories/0.2.tar.gz", o.Data)
			if err := os.WriteFile(filepath.Join(o.Data, raftnode.SecretFile), []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func identityOf(t *testing.T, n *Node) string {
	b, err := os.ReadFile(filepath.Join(n.o.Data, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFinalizeUpgrade: a cluster that a program of version 1 has made stays one, also with other members,
// until an operator finalises it; then its directories are of the newer version. Nothing finalises while
// a member does not answer.
func TestFinalizeUpgrade(t *testing.T) {
	if version.Oldest != 1 {
		t.Skipf("the directory in testdata is of version 1, and this program opens those from version %d on", version.Oldest)
	}
	nodes := start(t, 3, fromVersion1(t))
	c := connect(t, nodes[0])
	want := func(sql, rows string) {
		t.Helper()
		if got := strings.Join(c.must(sql), " "); got != rows {
			t.Fatalf("%s: %s, want %s", sql, got, rows)
		}
	}
	want("select * from cluster.version", fmt.Sprintf("1|%d|1|ready to finalize|{}", version.Binary))
	want("show tributary.cluster_version", "1")
	for _, n := range nodes {
		if id := identityOf(t, n); !strings.HasPrefix(id, "tributary 1\n") || strings.Contains(id, "version") {
			t.Errorf("a program of version 1 would not read the identity %q", id)
		}
	}
	kinds := c.must("select kind from cluster.warnings")
	if !slices.Contains(kinds, "upgrade") {
		t.Errorf("no warning of an upgrade that is not finalised: %v", kinds)
	}
	_ = nodes[2].Close()
	c.must("create role plain")
	if _, err := c.do("set role plain; alter system finalize upgrade"); !pgerr.Is(err, pgerr.InsufficientPrivilege) {
		t.Error(err)
	}
	_, err := c.do("reset role; alter system finalize upgrade")
	if !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) || pgerr.From(err).Detail != "node n3 does not answer." {
		t.Errorf("%v: %s", err, pgerr.From(err).Detail)
	}
	want("select finalized_version from cluster.version", "1")
	c.must("alter node n3 decommission force")
	c.must("alter system finalize upgrade")
	want("select * from cluster.version", fmt.Sprintf("%d|%[1]d|%d|finalized|{}", version.Binary, version.Oldest))
	for _, n := range nodes[:2] {
		eventually(t, "the directory to be of the new version", func() bool {
			return strings.HasPrefix(identityOf(t, n), "tributary 2\n") && strings.HasSuffix(identityOf(t, n), fmt.Sprintf("version %d\n", version.Binary))
		})
	}
	want("select count(*) from p", "1490")
}

// TestFinalizeAfter: with the setting the upgrade is finalised by itself.
func TestFinalizeAfter(t *testing.T) {
	if version.Oldest != 1 {
		t.Skipf("the directory in testdata is of version 1, and this program opens those from version %d on", version.Oldest)
	}
	n := start(t, 1, fromVersion1(t))[0]
	c := connect(t, n)
	c.must("alter system set tributary.finalize_after = '200ms'")
	eventually(t, "the upgrade to be finalised", func() bool { return n.Catalog().Finalized() == version.Binary })
}

// TestNewerDirectory: a program does not touch the directory of a later version.
func TestNewerDirectory(t *testing.T) {
	n := start(t, 1)[0]
	eventually(t, "the version", func() bool { return strings.Contains(identityOf(t, n), "version") })
	_ = n.Close()
	path := filepath.Join(n.o.Data, "identity")
	newer := strings.Replace(identityOf(t, n), fmt.Sprintf("version %d", version.Binary), fmt.Sprintf("version %d", version.Binary+1), 1)
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	before := listing(t, n.o.Data)
	_, err := raftnode.OpenDir(n.o.Data, false, "segments")
	if !pgerr.Is(err, pgerr.FeatureNotSupported) || pgerr.From(err).Hint == "" || !strings.Contains(err.Error(), fmt.Sprintf("version %d", version.Binary+1)) {
		t.Error(err)
	}
	if after := listing(t, n.o.Data); !slices.Equal(before, after) {
		t.Errorf("the directory has changed:\n%v\n%v", before, after)
	}
}

// listing are the files of a directory with their sizes and times.
func listing(t *testing.T, dir string) (out []string) {
	err := filepath.Walk(dir, func(path string, i os.FileInfo, err error) error {
		if err == nil && !i.IsDir() {
			out = append(out, fmt.Sprint(path, i.Size(), i.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
