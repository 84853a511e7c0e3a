package observe

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// maxLog is how much of a record's message and of its fields is kept, in bytes.
const maxLog = 4 << 10

// Handler passes records on and keeps those of level Info and above.
func (n *Node) Handler(to slog.Handler) slog.Handler {
	s := &logSink{of: n}
	s.text = slog.NewJSONHandler(&s.buf, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}})
	return &logHandler{to, s.text, s}
}

// logSink makes the JSON of records.
type logSink struct {
	of   *Node
	text slog.Handler
	mu   sync.Mutex
	buf  bytes.Buffer
}

type logHandler struct {
	to, text slog.Handler
	sink     *logSink
}

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.to.Enabled(ctx, l)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		h.sink.of.Logs.Add(h.sink.record(ctx, r, h.text))
	}
	if !h.to.Enabled(ctx, r.Level) {
		return nil
	}
	return h.to.Handle(ctx, r)
}

// record makes what is kept of a record.
func (s *logSink) record(ctx context.Context, r slog.Record, text slog.Handler) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Reset()
	fields := ""
	if err := text.Handle(ctx, r); err == nil && s.buf.Len() <= maxLog {
		fields = strings.TrimSpace(s.buf.String())
	}
	if s.buf.Cap() > 4*maxLog {
		s.buf = bytes.Buffer{}
	}
	if fields == "{}" {
		fields = ""
	}
	message := r.Message
	if len(message) > maxLog {
		message = strings.ToValidUTF8(message[:maxLog], "")
	}
	return &Log{At: r.Time, Level: strings.ToLower(r.Level.String()), Message: message, Fields: fields}
}

func (h *logHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return &logHandler{h.to.WithAttrs(as), h.text.WithAttrs(as), h.sink}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.to.WithGroup(name), h.text.WithGroup(name), h.sink}
}
