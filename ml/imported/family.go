package imported

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Name is the algorithm of such models.
const Name = "imported"

// Family decodes the models; it trains none.
var Family family.Family = imported{}

type imported struct{}

func (imported) Info() family.Info {
	return family.Info{Name: Name, Doc: "A model that came from a file of another system."}
}

func (imported) Options() []*family.Option { return nil }

func (imported) Plan(*family.Request) (*family.Plan, error) { return nil, untrained() }

func (imported) NewDriver(*family.Setup, *family.Node) (family.Driver, error) {
	return nil, untrained()
}

func (imported) NewWorker(*family.Setup, *family.Node) (family.Worker, error) {
	return nil, untrained()
}

func (imported) DecodeStep(_ uint8, d *canon.D) family.Message {
	d.Fail()
	return nil
}

func (imported) DecodePartial(_ uint8, d *canon.D) family.Message {
	d.Fail()
	return nil
}

func (imported) Merge(uint8, family.Message, family.Message) (family.Message, error) {
	return nil, untrained()
}

// Decode implements family.Family.
func (imported) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	s := decodeShape(d)
	if !d.OK() {
		return nil, d.Done("an imported model")
	}
	return New(f, s)
}

func untrained() error {
	return pgerr.Unsupported("an imported model cannot be trained").WithHint("IMPORT MODEL brings one in.")
}
