package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
)

// Exporter sends a node's traces. All fields are required.
type Exporter struct {
	Observe       *observe.Node
	Node, Version string
	Log           *slog.Logger
	// Endpoint is where to, now: http://HOST:PORT, "" for nowhere.
	Endpoint func() string
	// Every is how often.
	Every time.Duration
}

const (
	// maxSpans bounds a request.
	maxSpans = 200
	// timeout is how long a collector may take.
	timeout = 10 * time.Second
	// repeatAfter is how soon the next failure is logged.
	repeatAfter = time.Minute
)

// Run sends traces until ctx ends. What a collector does not take is lost.
func (x *Exporter) Run(ctx context.Context) {
	tick := time.NewTicker(x.Every)
	defer tick.Stop()
	client := &http.Client{Timeout: timeout}
	defer client.CloseIdleConnections()
	var statement *observe.Statement // the newest that was sent
	var task *observe.Task
	var said time.Time
	on := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		to := x.Endpoint()
		if to == "" {
			on = false
			continue
		}
		x.Observe.Gather()
		statements, tasks := x.Observe.History.All(), x.Observe.Tasks.All()
		list := spans(x.Node, after(statements, statement), after(tasks, task))
		statement, task = last(statements), last(tasks)
		if !on { // what was before the exporter was switched on is not of interest
			on = true
			continue
		}
		for part := range slices.Chunk(list, maxSpans) {
			if err := x.send(ctx, client, to, part); err != nil && ctx.Err() == nil && time.Since(said) > repeatAfter {
				said = time.Now()
				x.Log.Warn("traces could not be sent", "endpoint", to, "error", err)
			}
		}
	}
}

// after returns what a ring has after a value; all of it where that is not there any more.
func after[T any](list []*T, x *T) []*T { return list[slices.Index(list, x)+1:] }

func last[T any](list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func (x *Exporter) send(ctx context.Context, client *http.Client, to string, list []span) error {
	body, err := encode(x.Node, x.Version, list)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(to, "/")+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", res.Status)
	}
	return nil
}
