package training

import (
	"testing"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TestCancellable: who trains a model cancels the training while somebody else verifies the model, and each their own.
func TestCancellable(t *testing.T) {
	const owner, auditor, trained, verified types.OID = 20001, 20002, 20003, 20004
	st, err := catalog.New().Apply([]catalog.Change{
		&catalog.PutRole{Role: &catalog.Role{OID: owner, Name: "o"}}, &catalog.PutRole{Role: &catalog.Role{OID: auditor, Name: "a"}},
		&catalog.PutJob{Job: &catalog.Job{OID: trained, Schema: catalog.PublicOID, Model: "m", Owner: owner, State: catalog.JobRunning}},
		&catalog.PutJob{Job: &catalog.Job{OID: verified, Schema: catalog.PublicOID, Model: "m", Owner: auditor, State: catalog.JobRunning, Attached: true, Verify: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[types.OID]types.OID{owner: trained, auditor: verified} {
		c := &query.Caller{Role: role}
		job, err := find(c, st, []string{"public", "m"}, func(job *catalog.Job) bool { return cancellable(c, st, job) })
		if err != nil || job == nil || job.OID != want {
			t.Errorf("role %d: %+v %v, not job %d", role, job, err, want)
		}
	}
}
