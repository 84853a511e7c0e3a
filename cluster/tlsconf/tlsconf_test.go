package tlsconf_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/tributarydb/tributary/cluster/tlsconf"
)

func certs(t *testing.T) *tlsconf.Certs {
	t.Helper()
	dir := t.TempDir()
	if err := tlsconf.CreateCA(dir); err != nil {
		t.Fatal(err)
	}
	if tlsconf.CreateCA(dir) == nil {
		t.Fatal("an authority was replaced")
	}
	if err := tlsconf.CreateNode(dir, []string{"127.0.0.1", "localhost"}); err != nil {
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
	return c
}

func TestMutual(t *testing.T) {
	a, b := certs(t), certs(t)
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
}
