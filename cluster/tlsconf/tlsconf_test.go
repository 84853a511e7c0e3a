package tlsconf_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/tributarydb/tributary/cluster/tlsconf"
)

func certs(t *testing.T) *tlsconf.Certs {
	t.Helper()
	c, _ := certsIn(t)
	return c
}

func certsIn(t *testing.T) (*tlsconf.Certs, string) {
	t.Helper()
	dir := t.TempDir()
	if err := tlsconf.CreateCA(dir); err != nil {
		t.Fatal(err)
	}
	if tlsconf.CreateCA(dir) == nil {
		t.Fatal("an authority was replaced")
	}
	if err := tlsconf.CreateNode(dir, dir, []string{"127.0.0.1", "localhost"}); err != nil {
		t.Fatal(err)
	}
	if err := tlsconf.CreateClient(dir, "ann"); err != nil {
		t.Fatal(err)
	}
	if tlsconf.CreateClient(dir, "../x") == nil {
		t.Fatal("a path as user")
	}
	c, err := tlsconf.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestMutual(t *testing.T) {
	a, dir := certsIn(t)
	b := certs(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", a.Peer())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) { io.Copy(c, c); c.Close() }(c)
		}
	}()
	try := func(conf *tls.Config) error {
		c, err := tls.Dial("tcp", ln.Addr().String(), conf)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 1))
		return err
	}
	if err := try(a.Peer()); err != nil {
		t.Fatal(err)
	}
	if try(b.Peer()) == nil {
		t.Fatal("another cluster's node was let in")
	}
	none := a.Peer()
	none.Certificates = nil
	if try(none) == nil {
		t.Fatal("let in without a certificate")
	}
	user, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.ann.crt"), filepath.Join(dir, "client.ann.key"))
	if err != nil {
		t.Fatal(err)
	}
	ann := a.Peer()
	ann.Certificates = []tls.Certificate{user}
	if try(ann) == nil {
		t.Fatal("a database user was let in as a node")
	}
}

// TestFiles: a key's file is readable by its owner only, and a node's directory has all that the node
// needs without the authority's key.
func TestFiles(t *testing.T) {
	_, dir := certsIn(t)
	to := filepath.Join(dir, "n1")
	if err := tlsconf.CreateNode(dir, to, []string{"::1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tlsconf.Load(to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(to, "ca.key")); err == nil {
		t.Error("the node got the authority's key")
	}
	for _, f := range []string{"ca.key", "node.key", "client.ann.key", "n1/node.key"} {
		st, err := os.Stat(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, st.Mode())
		}
	}
}
