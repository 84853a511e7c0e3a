package raftnode

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// hlog is raft's logger over slog. Raft's Info is about its inner life: it is
// our Debug.
type hlog struct {
	hclog.Logger // what is not overridden does nothing
	to           *slog.Logger
}

func newHlog(to *slog.Logger) hclog.Logger { return &hlog{hclog.NewNullLogger(), to} }

// Log and the others implement hclog.Logger.
func (l *hlog) Log(level hclog.Level, msg string, args ...any) {
	at := slog.LevelDebug
	switch level {
	case hclog.Warn:
		at = slog.LevelWarn
	case hclog.Error:
		at = slog.LevelError
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
func (l *hlog) With(args ...any) hclog.Logger  { return &hlog{l.Logger, l.to.With(args...)} }
func (l *hlog) Named(string) hclog.Logger      { return l }
func (l *hlog) ResetNamed(string) hclog.Logger { return l }
func (l *hlog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
func (l *hlog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
