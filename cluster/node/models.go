package node

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// models are the decoded models of a node, by the hash of their bytes: training.Models.
// Each is charged to the node and stays while a statement uses it; then it is idle
// (mem.Pool.AddIdle), and is evicted when others need its memory or too much is idle,
// least recently used first.
type models struct {
	pool *mem.Pool
	read func(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error
	open func(ctx context.Context, ref *catalog.Segment) (*store.Blob, error) // a file of groups

	mu    sync.Mutex
	byKey map[[32]byte]*cachedModel
	idle  *list.List   // unused *cachedModel, most recently used in front
	bytes atomic.Int64 // of those; atomic, since it is read while a model is being evicted
	loads int64        // so far
}

type cachedModel struct {
	key    [32]byte
	acct   *mem.Account
	ready  chan struct{} // closed when scorer, groups or err is set
	scorer *model.Scorer // of a single model
	groups *groupModels
	err    error
	users  int
	at     *list.Element // in models.idle; nil while it is used
}

// idleShare bounds the fraction of a node's memory that idle models take together; a
// single one may take more.
const idleShare = 0.25

func newModels(pool *mem.Pool, read func(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error) *models {
	m := &models{pool: pool, read: read, byKey: map[[32]byte]*cachedModel{}, idle: list.New()}
	pool.AddIdle(m.idleBytes, m.shed)
	return m
}

func (m *models) close() { m.shed(m.idleBytes()) }

func (m *models) idleBytes() int64 { return m.bytes.Load() }

// shed evicts idle models of at least n bytes, if there are as many, and returns how
// many bytes were freed.
func (m *models) shed(n int64) (freed int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for freed < n && m.idle.Len() > 0 {
		freed += m.drop()
	}
	return freed
}

// drop evicts the least recently used model and returns its bytes; the lock is held.
func (m *models) drop() int64 {
	c := m.idle.Remove(m.idle.Back()).(*cachedModel)
	delete(m.byKey, c.key)
	n := c.acct.Used()
	m.bytes.Add(-n)
	if c.groups != nil {
		c.groups.close()
	}
	c.acct.Close()
	return n
}

// use returns a version, decoded, which is kept until release is called.
func (m *models) use(ctx context.Context, name string, v *catalog.ModelVersion) (_ *cachedModel, release func(), err error) {
	for {
		m.mu.Lock()
		c := m.byKey[v.SHA256]
		mine := c == nil
		if mine {
			c = &cachedModel{key: v.SHA256, ready: make(chan struct{})}
			m.byKey[c.key] = c
			m.loads++
		}
		if c.users++; c.at != nil {
			m.idle.Remove(c.at)
			m.bytes.Add(-c.acct.Used())
			c.at = nil
		}
		m.mu.Unlock()
		if mine {
			m.load(ctx, c, name, v)
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil:
			m.leave(c)
			return nil, nil, ctx.Err()
		case c.err == nil:
			return c, sync.OnceFunc(func() { m.leave(c) }), nil
		case mine:
			return nil, nil, c.err
		}
		// Loading failed for another statement, which may have been cancelled: this one tries
		// again.
	}
}

// load decodes a model that use has registered. On an error it is removed.
func (m *models) load(ctx context.Context, c *cachedModel, name string, v *catalog.ModelVersion) {
	acct := m.pool.Account("model "+name, false)
	if v.Groups != nil {
		g, err := openGroups(ctx, m.open, m.pool.Limit()/groupsShare, name, v, acct)
		m.loaded(c, acct, nil, g, err)
		return
	}
	var dec *model.Model
	err := m.read(ctx, v.Blob(), func(b []byte) (err error) {
		dec, err = model.DecodeWithin(b, acct.Grow)
		return err
	})
	var s *model.Scorer
	if err == nil {
		s, err = model.NewScorer(dec)
	}
	if err == nil {
		err = acct.Resize(max(acct.Used(), dec.Predictor.Bytes()) + 4096)
	}
	m.loaded(c, acct, s, nil, err)
}

func (m *models) loaded(c *cachedModel, acct *mem.Account, s *model.Scorer, g *groupModels, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.acct, c.scorer, c.groups, c.err = acct, s, g, err; err != nil {
		acct.Close()
		delete(m.byKey, c.key)
	}
	close(c.ready)
}

// leave ends a use.
func (m *models) leave(c *cachedModel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.users--; c.users > 0 || m.byKey[c.key] != c || c.acct == nil {
		return
	}
	c.at = m.idle.PushFront(c)
	m.bytes.Add(c.acct.Used())
	for m.idle.Len() > 1 && float64(m.bytes.Load()) > idleShare*float64(m.pool.Limit()) {
		m.drop()
	}
}

// cached returns the statistics of the cache.
func (m *models) cached() sysview.CachedModels {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := sysview.CachedModels{Idle: m.bytes.Load(), Bytes: m.bytes.Load(), Loads: m.loads}
	for _, c := range m.byKey {
		if c.acct != nil && c.at == nil {
			out.Bytes += c.acct.Used()
		}
	}
	return out
}

// Scorer implements training.Models.
func (m *models) Scorer(ctx context.Context, st *catalog.State, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error) {
	cm := st.ModelByOID(ref.OID)
	if cm == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model with OID %d does not exist", ref.OID)
	}
	v, err := cm.Want(ref.Number)
	if err != nil {
		return nil, err
	}
	c, release, err := m.use(ctx, cm.Name, v)
	if err != nil {
		return nil, err
	}
	if pool == nil {
		release()
	} else {
		pool.OnClose(release)
	}
	switch {
	case c.groups != nil:
		return newGroupScorer(c.groups, pool), nil
	case pool == nil:
		return &scorer{s: c.scorer}, nil
	}
	return &scorer{s: c.scorer, acct: pool.LastingAccount("prediction")}, nil
}
