package past

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// Seen returns the state of a time as it may be read now: the last one whose time is not later. At now's own time and later
// that is now.
func (h *History) Seen(ctx context.Context, now *catalog.State, at time.Time) (*catalog.State, error) {
	if !at.Before(now.Time()) {
		return now, nil
	}
	e, err := h.at(ctx, moment{at: at})
	if err != nil {
		return nil, err
	}
	return h.states.seen(e, now), nil
}

// SeenVersion is Seen for the state of a version.
func (h *History) SeenVersion(ctx context.Context, now *catalog.State, version uint64) (*catalog.State, error) {
	if version == now.Version() {
		return now, nil
	}
	e, err := h.at(ctx, moment{version: version})
	if err != nil {
		return nil, err
	}
	return h.states.seen(e, now), nil
}

// Was returns the state of a time, or if that is not 0 of a version that is not the newest, with its privileges of then.
func (h *History) Was(ctx context.Context, now *catalog.State, at time.Time, version uint64) (*catalog.State, error) {
	if version == 0 && !at.Before(now.Time()) {
		return now, nil
	}
	e, err := h.at(ctx, moment{at, version})
	if err != nil {
		return nil, err
	}
	return catalog.AsItWas(h.states.seen(e, now), e.state), nil
}

// At returns the state of a time as it was then.
func (h *History) At(ctx context.Context, at time.Time) (*catalog.State, error) {
	e, err := h.at(ctx, moment{at: at})
	if err != nil {
		return nil, err
	}
	return e.state, nil
}
