package training

import (
	"context"
	"fmt"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// chooseTrial has the trials of a search that chooses one for all groups trained on each of them, batch by batch, as
// groups are trained: by one plan, whose results lie on a pile, which checkpoints keep. Then the job is that of the
// best trial's settings.
func (d *drive) chooseTrial(ctx context.Context, name string, rescan bool) error {
	g := d.runs
	for g.search != nil && g.best == 0 {
		if g.job == nil { // else an earlier attempt was in the middle of the batch
			if g.job = g.search.Next(); g.job == nil {
				break
			}
			d.rec.trialsNow(g.search.Trials)
		}
		d.rec.phase("search", 0)
		if err := d.trainGroups(ctx, fmt.Sprintf("%s.%d", name, len(g.search.Told)), rescan); err != nil {
			return err
		}
		if g.pile.Len() == 0 {
			return errNoGroups()
		}
		if err := g.pile.Each(func(_ []byte, _ []types.Datum, made []byte) error { return g.search.Add(made) }); err != nil {
			return err
		}
		if err := g.search.Tell(d.rec.cancelled); err != nil {
			return err
		}
		if err := g.pile.Close(); err != nil {
			return err
		}
		g.newPile(ctx)
		g.job = nil
		d.rec.trialsNow(g.search.Trials)
		if err := g.save(ctx, d.rec); err != nil {
			return err
		}
	}
	if g.search == nil || g.best > 0 {
		return nil
	}
	d.rec.trialsNow(g.search.Trials)
	var err error
	g.best, g.job, err = g.search.Best()
	return err
}

func errNoGroups() error {
	return pgerr.New(pgerr.InvalidParameterValue, "the training query returned no rows")
}

// trialsNow notes trials as they are now.
func (r *jobRecord) trialsNow(list []train.Trial) {
	for i := range list {
		r.event(train.Event{Trial: &list[i]})
	}
}
