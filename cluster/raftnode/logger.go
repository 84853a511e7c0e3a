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

// hlog is raft's logger over slog. Raft's Info is about its inner life: it is
// our Debug. What it finds wrong it says several times a second: each message
// is passed on once in a while, as a warning, since raft goes on trying.
type hlog struct {
	hclog.Logger // what is not overridden does nothing
	to           *slog.Logger

	mu   sync.Mutex
	said map[string]time.Time
}

// sayAgain is how soon the same message is passed on again.
const sayAgain = 30 * time.Second

func newHlog(to *slog.Logger) hclog.Logger {
	return &hlog{Logger: hclog.NewNullLogger(), to: to, said: map[string]time.Time{}}
}

// fresh reports whether a message is due. There are few different ones.
func (l *hlog) fresh(msg string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if t, ok := l.said[msg]; ok && now.Sub(t) < sayAgain {
		return false
	}
	if len(l.said) > 256 {
		clear(l.said)
	}
	l.said[msg] = now
	return true
}

// Log and the others implement hclog.Logger.
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
