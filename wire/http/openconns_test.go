package http_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	gohttp "net/http"
	"net/http/httptest"
	"os"
	"slices"
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
		"no reader":   strings.Repeat("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 1000),
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
				_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // few answers fill it
				go func() { _, _ = io.WriteString(c, first) }()
			}
			// Which of them is the oldest is known where they all wait in the order of their arrival. A
			// connection that is answered takes its place anew with each request, and one that this loop
			// reads from goes on to its last answer.
			old := all
			if first == "" {
				old = all[:1]
			}
			for end := time.Now().Add(time.Minute); !slices.ContainsFunc(old, gone); {
				if time.Now().After(end) {
					t.Fatal("401 connections stay open")
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

// silent is the log of a test in which nothing is to be logged.
type silent struct {
	slog.Handler
	t *testing.T
}

func (silent) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (s silent) Handle(_ context.Context, r slog.Record) error {
	s.t.Errorf("it logs %q", r.Message)
	return nil
}

// TestLongHandshake: what a client sends in its TLS handshake is limited: crypto/tls keeps up to 64 KiB of
// a hello, and 256 KiB of certificates. Requests after it are not. A stranger's handshake that fails
// leaves no line in the log.
func TestLongHandshake(t *testing.T) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	url := start(t, http.Options{Source: &source{ready: true}, Log: slog.New(silent{slog.DiscardHandler, t}), TLS: &tls.Config{Certificates: other.TLS.Certificates}})
	addr := strings.TrimPrefix(url, "http://")
	good, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	answers := bufio.NewReader(good)
	for range 10 {
		if _, err := io.WriteString(good, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 10000)+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := gohttp.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != 200 {
			t.Fatal(r.Status, err)
		}
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	record := append([]byte{22, 3, 1, 0x40, 0}, make([]byte, 16<<10)...)
	copy(record[5:], []byte{1, 0, 0xff, 0xff}) // a hello of 64 KiB
	for range 3 {
		if _, err := c.Write(record); err != nil {
			return // it is closed
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(8 * time.Second)) // a silent client is closed after 10 s
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stays open")
	}
}
