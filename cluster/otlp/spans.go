package otlp

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tributarydb/tributary/cluster/observe"
)

// The messages of OTLP, as far as they are needed. Numbers of 64 bits are texts in it.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text string `json:"stringValue,omitempty"`
		Int  string `json:"intValue,omitempty"`
	}
)

const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
)

func text(key, s string) attribute { return attribute{key, value{Text: s}} }
func number(key string, n int64) attribute {
	return attribute{key, value{Int: strconv.FormatInt(n, 10)}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// traceOf and spanOf are ids of a statement.
func traceOf(statement string) string {
	h := xxh3.HashString128(statement).Bytes()
	return hex.EncodeToString(h[:])
}

func spanOf(parts ...any) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, max(xxh3.HashString(fmt.Sprint(parts...)), 1)))
}

// spans are those of statements and of what threads of this node did for statements.
func spans(node string, statements []*observe.Statement, tasks []*observe.Task) (out []span) {
	for _, s := range statements {
		if s.ID == "" || s.Brief {
			continue
		}
		x := span{TraceID: traceOf(s.ID), SpanID: spanOf(s.ID), Name: cmp.Or(s.Tag, "statement"), Kind: kindServer, Start: nanos(s.Start), End: nanos(s.Start.Add(s.Took)),
			Attributes: []attribute{text("db.system.name", "tributary"), text("db.query.text", s.Text), text("db.user", s.UserName), number("db.response.returned_rows", s.Rows),
				number("tributary.planning_us", s.Planning.Microseconds()), number("tributary.memory_peak", s.Memory), number("tributary.spilled_bytes", s.Spilled),
				number("tributary.exchanged_bytes", s.Exchanged)}}
		if s.Application != "" {
			x.Attributes = append(x.Attributes, text("tributary.application", s.Application))
		}
		if s.Code != "" {
			x.Attributes = append(x.Attributes, text("db.response.status_code", s.Code))
			x.Status = &status{statusError, s.Error}
		}
		out = append(out, x)
	}
	type key struct {
		statement string
		stage     int
	}
	type stage struct {
		key
		kind        string
		start, end  time.Time
		rows, bytes int64
		threads     int64
	}
	at := map[key]*stage{}
	var stages []*stage
	for _, t := range tasks {
		k := key{t.Statement, t.Stage}
		s := at[k]
		if s == nil {
			s = &stage{key: k, kind: t.Kind, start: t.Start, end: t.End}
			at[k], stages = s, append(stages, s)
		}
		if t.Start.Before(s.start) {
			s.start = t.Start
		}
		if t.End.After(s.end) {
			s.end = t.End
		}
		s.rows, s.bytes, s.threads = s.rows+t.Rows, s.bytes+t.Bytes, s.threads+1
	}
	slices.SortStableFunc(stages, func(a, b *stage) int { return a.start.Compare(b.start) })
	for _, s := range stages {
		out = append(out, span{TraceID: traceOf(s.statement), SpanID: spanOf(s.statement, s.stage, node, s.start.UnixNano()), Parent: spanOf(s.statement),
			Name: fmt.Sprintf("stage %d: %s", s.stage, s.kind), Kind: kindInternal, Start: nanos(s.start), End: nanos(s.end),
			Attributes: []attribute{text("tributary.node", node), number("tributary.rows", s.rows), number("tributary.sent_bytes", s.bytes), number("tributary.threads", s.threads)}})
	}
	return out
}

// encode makes a request of spans.
func encode(node, version string, list []span) ([]byte, error) {
	return json.Marshal(request{[]resourceSpans{{
		Resource:   resource{[]attribute{text("service.name", "tributary"), text("service.instance.id", node), text("service.version", version)}},
		ScopeSpans: []scopeSpans{{scope{"tributary"}, list}},
	}}})
}
