package raftnode

import (
	"context"
	"io"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// hlog is raft's logger over slog. Raft's Info is about its internals, so it is logged
// as Debug. Raft repeats its warnings and errors several times a second: each message
// is logged once in a while, as a warning, since raft goes on trying.
type hlog struct {
	hclog.Logger // a null logger: the methods not overridden do nothing
	to           *slog.Logger

	mu   sync.Mutex
	said map[string]time.Time
}

// repeatAfter is how soon the same message is logged again.
const repeatAfter = 30 * time.Second

func newHlog(to *slog.Logger) hclog.Logger {
	return &hlog{Logger: hclog.NewNullLogger(), to: to, said: map[string]time.Time{}}
}

// fresh reports whether a message is to be logged now. There are few distinct ones.
func (l *hlog) fresh(msg string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if t, ok := l.said[msg]; ok && now.Sub(t) < repeatAfter {
		return false
	}
	if len(l.said) > 256 {
		clear(l.said)
	}
	l.said[msg] = now
	return true
}

// Log implements hclog.Logger, as do the methods below.
func (l *hlog) Log(level hclog.Level, msg string, args ...any) {
	at := slog.LevelDebug
	if level >= hclog.Warn && l.fresh(msg) {
		at = slog.LevelWarn
	}
	l.to.Log(context.Background(), at, "raft: "+msg, args...)
}
func (l *hlog) Trace(string, ...any)           {}
func (l *hlog) Debug(msg string, args ...any)  { l.Log(hclog.Debug, msg, args...) }
func (l *hlog) Info(msg string, args ...any)   { l.Log(hclog.Info, msg, args...) }
func (l *hlog) Warn(msg string, args ...any)   { l.Log(hclog.Warn, msg, args...) }
func (l *hlog) Error(msg string, args ...any)  { l.Log(hclog.Error, msg, args...) }
func (l *hlog) IsWarn() bool                   { return true }
func (l *hlog) IsError() bool                  { return true }
func (l *hlog) With(args ...any) hclog.Logger  { return newHlog(l.to.With(args...)) }
func (l *hlog) Named(string) hclog.Logger      { return l }
func (l *hlog) ResetNamed(string) hclog.Logger { return l }
func (l *hlog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
func (l *hlog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
