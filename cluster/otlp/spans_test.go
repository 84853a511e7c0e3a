package otlp

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
)

// TestSpans: the spans of two nodes belong to one trace, and are what a collector reads.
func TestSpans(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1, int64(ms)*1e6) }
	here := spans("n1", []*observe.Statement{
		{ID: "1-2-3", Tag: "SELECT 1", Text: "select 1", UserName: "ann", Start: at(0), Took: 20 * time.Millisecond, Rows: 1, Code: "22012", Error: "division by zero"},
		{ID: "1-2-4", Brief: true},
	}, []*observe.Task{
		{Statement: "1-2-3", Stage: 1, Kind: "scan", Start: at(6), End: at(9), Rows: 5},
		{Statement: "1-2-3", Stage: 0, Kind: "aggregate", Start: at(2), End: at(19), Rows: 1},
		{Statement: "1-2-3", Stage: 1, Kind: "scan", Start: at(5), End: at(7), Rows: 6, Bytes: 10},
	})
	there := spans("n2", nil, []*observe.Task{{Statement: "1-2-3", Stage: 1, Kind: "scan", Start: at(5), End: at(7)}})
	if len(here) != 3 || len(there) != 1 {
		t.Fatalf("%+v %+v", here, there)
	}
	root, stage := here[0], here[2]
	if root.Parent != "" || root.Status.Message != "division by zero" || stage.Name != "stage 1: scan" || stage.Start != "1005000000" || stage.End != "1009000000" {
		t.Errorf("%+v %+v", root, stage)
	}
	ids := map[string]bool{root.SpanID: true}
	for _, s := range append(here[1:], there...) {
		if s.TraceID != root.TraceID || s.Parent != root.SpanID || ids[s.SpanID] {
			t.Errorf("%+v", s)
		}
		ids[s.SpanID] = true
	}
	b, err := encode("n1", "1.0", here[2:])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"tributary"}},{"key":"service.instance.id","value":{"stringValue":"n1"}},` +
		`{"key":"service.version","value":{"stringValue":"1.0"}}]},"scopeSpans":[{"scope":{"name":"tributary"},"spans":[{"traceId":"T","spanId":"S","parentSpanId":"S","name":"stage 1: scan","kind":1,` +
		`"startTimeUnixNano":"1005000000","endTimeUnixNano":"1009000000","attributes":[{"key":"tributary.node","value":{"stringValue":"n1"}},{"key":"tributary.rows","value":{"intValue":"11"}},` +
		`{"key":"tributary.sent_bytes","value":{"intValue":"10"}},{"key":"tributary.threads","value":{"intValue":"2"}}]}]}]}]}`
	got := regexp.MustCompile(`"[0-9a-f]{32}"`).ReplaceAllString(regexp.MustCompile(`"[0-9a-f]{16}"`).ReplaceAllString(string(b), `"S"`), `"T"`)
	if got != want || !json.Valid(b) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
