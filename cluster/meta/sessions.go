package meta

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// sessions holds the outcomes of each gateway's commits, so that each has one outcome
// however often it is proposed: the client sessions of Ongaro's dissertation on Raft
// (6.3).
//
//	… answered, forgotten │ mark: 7 applied, 8 refused, 9 ?, 10 applied
//
// A copy of a commit gets the outcome of the first. A copy from below the mark, or of
// an epoch that is over, was delayed in flight: nobody waits for it, and it has no
// effect.
type sessions map[uint64]*session

type session struct {
	epoch uint64
	over  bool // the gateway was removed: it may come back in another epoch only
	mark  uint64
	done  map[uint64]done // by number, from mark on
}

// done is the outcome of a commit.
type done struct {
	Index   uint64
	Outcome catalog.Outcome
	Refused *pgerr.Error
	Lock    advisory.Result
}

func (d done) response() Response {
	r := Response{Index: d.Index, Outcome: d.Outcome, Lock: d.Lock}
	if d.Refused != nil {
		e := *d.Refused
		r.Err = &e
	}
	return r
}

// admit returns a commit's outcome where that is known already; else the commit is to
// be applied and its outcome recorded in the session.
func (ss sessions) admit(index uint64, id CommitID) (*session, Response, bool) {
	s := ss[id.Gateway]
	if s == nil || id.Epoch > s.epoch {
		s = &session{epoch: id.Epoch, done: map[uint64]done{}}
		ss[id.Gateway] = s
	}
	if id.Epoch == s.epoch {
		if d, ok := s.done[id.Seq]; ok {
			return s, d.response(), true
		}
	}
	if id.Epoch < s.epoch || s.over {
		return s, Response{Index: index, Ended: s.epoch}, true
	}
	if id.Mark > s.mark {
		s.mark = id.Mark
		maps.DeleteFunc(s.done, func(seq uint64, _ done) bool { return seq < s.mark })
	}
	if id.Seq < s.mark {
		return s, Response{Index: index, Err: pgerr.New(pgerr.StatementCompletionUnknown, "the commit came after its gateway had given it up")}, true
	}
	return s, Response{}, false
}

// epoch returns the present epoch of a gateway, 0 for none.
func (ss sessions) epoch(gateway uint64) uint64 {
	if s := ss[gateway]; s != nil {
		return s.epoch
	}
	return 0
}

// removed ends the sessions of nodes that changes remove from the cluster, and returns
// the nodes.
func (ss sessions) removed(changes []catalog.Change) (out []uint64) {
	for _, c := range changes {
		d, ok := c.(*catalog.DropNode)
		if !ok {
			continue
		}
		out = append(out, d.ID)
		if s := ss[d.ID]; s != nil {
			s.over = true
			clear(s.done)
		}
	}
	return out
}

// imageSession is the encoding of a session in a snapshot.
type imageSession struct {
	Gateway, Epoch uint64
	Over           bool
	Mark           uint64
	Done           []imageDone // by number
}

type imageDone struct {
	Seq  uint64
	Done done
}

// image copies the sessions, by gateway.
func (ss sessions) image() []imageSession {
	var out []imageSession
	for gateway, s := range ss {
		im := imageSession{Gateway: gateway, Epoch: s.epoch, Over: s.over, Mark: s.mark}
		for seq, d := range s.done {
			im.Done = append(im.Done, imageDone{seq, d})
		}
		slices.SortFunc(im.Done, func(a, b imageDone) int { return cmp.Compare(a.Seq, b.Seq) })
		out = append(out, im)
	}
	slices.SortFunc(out, func(a, b imageSession) int { return cmp.Compare(a.Gateway, b.Gateway) })
	return out
}

func sessionsOf(list []imageSession) sessions {
	ss := sessions{}
	for _, im := range list {
		s := &session{epoch: im.Epoch, over: im.Over, mark: im.Mark, done: map[uint64]done{}}
		for _, d := range im.Done {
			s.done[d.Seq] = d.Done
		}
		ss[im.Gateway] = s
	}
	return ss
}
