package http_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/wire/http"
)

// TestCrowd: clients that send nothing, half a header or half a body, or that read no answers, occupy
// a bounded number of connections: the oldest is closed, and another client is served.
func TestCrowd(t *testing.T) {
	for name, first := range map[string]string{
		"silent":      "",
		"half header": "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 10000),
		"no body":     "POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"idle":        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"no reader":   strings.Repeat("GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			url := start(t, http.Options{Source: &source{ready: true}})
			var all []net.Conn
			defer func() {
				for _, c := range all {
					c.Close()
				}
			}()
			gone := func(c net.Conn) bool {
				_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
				_, err := io.Copy(io.Discard, c)
				return !errors.Is(err, os.ErrDeadlineExceeded)
			}
			for range 401 {
				c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
				go func() { _, _ = io.WriteString(c, first) }()
			}
			for end := time.Now().Add(20 * time.Second); !gone(all[0]); {
				if time.Now().After(end) {
					t.Fatal("the first of 401 connections goes on")
				}
			}
			if code, body := get(t, url+"/healthz", "", ""); code != 200 {
				t.Errorf("%d %s", code, body)
			}
		})
	}
}

// TestLongHeader: a header of more than a few kilobytes is refused (431), so that a client without a
// login cannot make a connection use much memory.
func TestLongHeader(t *testing.T) {
	url := start(t, http.Options{Source: &source{ready: true}})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 60000)+"\r\n\r\n")
	}()
	got := make([]byte, 12)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "HTTP/1.1 431" {
		t.Fatalf("%q, %v", got, err)
	}
}
