package train

import (
	"errors"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
)

// Trials that run side by side are in lanes: each worker has for each lane what a trial derives from the blocks, which
// all lanes share and none changes. The number of a task says its lane. Lane 0 is the worker itself: it makes the
// blocks, and its tasks end the other lanes.

// Laned is a Reducer whose workers do tasks of several trials at once.
type Laned interface {
	Reducer
	// Lane returns the reducer of a lane from 1 on, nil where there are none. Tasks of a lane follow each other.
	Lane(lane int) Reducer
}

const laneShift = 40

// InLane returns the number of a task: n rises with all tasks of all lanes.
func InLane(lane, n int) int { return lane<<laneShift | n }

// LaneOf returns the lane of a task by its number.
func LaneOf(iter int) int { return iter >> laneShift }

// lanes are the other lanes of a worker.
type lanes struct {
	mu   sync.Mutex
	list map[int]*Worker
	from int // the least number of a task in them: those before are of a lane that has ended
}

// Lane returns a lane of the worker.
func (w *Worker) Lane(lane int) *Worker {
	if lane == 0 || w.lanes == nil {
		return w
	}
	w.lanes.mu.Lock()
	defer w.lanes.mu.Unlock()
	l := w.lanes.list[lane]
	if l == nil {
		w.stepped.Do(func() { w.before = w.Spilled() })
		l = &Worker{job: w.job, cfg: w.cfg, rows: w.rows, nodes: w.nodes, owners: w.owners, plan: w.plan, leaves: w.leaves, fold: w.fold, fitted: w.fitted,
			ledger: ledger{pool: w.pool, blocks: w.blocks}, iter: InLane(lane, w.lanes.from)}
		l.inbox = l.pool.Account("training messages", false)
		l.ledger.renew()
		l.state = block.NewState(block.Config{Pool: l.cfg.Pool, Temp: l.cfg.Temp})
		l.scores.blocks = l.blocks
		if w.lanes.list == nil {
			w.lanes.list = map[int]*Worker{}
		}
		w.lanes.list[lane] = l
	}
	return l
}

// end ends the lanes, once what runs in them has come to its end. Tasks before this number come too late.
func (s *lanes) end(from int) error {
	s.mu.Lock()
	list := s.list
	s.list, s.from = nil, max(from, s.from)
	s.mu.Unlock()
	var all []error
	for _, l := range list {
		l.turn.Lock()
		l.gone = true
		l.turn.Unlock()
		l.running.Wait()
		if l.family != nil {
			l.family.Close()
		}
		l.scores.drop()
		l.ledger.close()
		all = append(all, l.state.Close())
	}
	return errors.Join(all...)
}
