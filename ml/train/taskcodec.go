package train

import (
	"bytes"
	"slices"

	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/rows"
)

// DecodeTask reads what Encode wrote.
func (w *Worker) DecodeTask(b []byte) (Task, error) {
	d := canon.Read(b)
	kind := d.U8()
	t := Task{Iter: d.Int()}
	w = w.Lane(LaneOf(t.Iter))
	switch kind {
	case kindFit:
		t.body = &fitTask{holdout: holdout.DecodeHoldout(d), fold: d.Int(), short: canon.Get[copiesTask](d).Rows}
	case kindCopies:
		t.body = canon.Get[copiesTask](d)
	case kindWeight:
		t.body = decodeWeight(w.job, d)
	case kindUsage:
		t.body = &usageTask{}
	case kindEncode:
		t.body = &encodeTask{rows.DecodeEncoding(d)}
	case kindRecount:
		t.body = canon.Get[recountTask](d)
	case kindRescan:
		t.body = &rescanTask{encodeTask{rows.DecodeEncoding(d)}, canon.Get[copiesTask](d).Rows}
	case kindFinish:
		t.body = &finishTask{}
	case kindSend:
		t.body = canon.Get[sendTask](d)
	case kindFrequent:
		t.body = canon.Get[frequentTask](d)
	case kindShare:
		s := canon.Get[shareTask](d)
		s.Frequent.check(d)
		t.body = s
	case kindTrial:
		j, err := DecodeJob(bytes.Clone(d.Bytes()))
		if err != nil {
			return t, err
		}
		t.body = &trialTask{j}
	case kindProfile:
		t.body = &profileTask{d.F64s()}
	case kindStep:
		t.body = decodeStep(w.job, d)
	case kindEvaluate, kindCuts, kindTally:
		m := &evaluateTask{target: d.Int(), held: d.Bool(), cuts: d.F64s(), coarse: d.Bool(), classWeights: d.F64s(), unit: d.F64()}
		if m.target < 0 || m.target > len(w.job.more()) {
			d.Fail()
			break
		}
		p, err := w.predictor(d, m.target)
		if err != nil {
			return t, err
		}
		m.predictor = p
		switch t.body = m; kind {
		case kindCuts:
			t.body = &cutsTask{m}
		case kindTally:
			t.body = &tallyTask{m}
		}
		if !slices.IsSorted(m.cuts) || len(m.cuts) > metric.MaxCuts {
			d.Fail()
		}
	default:
		d.Fail()
	}
	return t, d.Done("a training task")
}
