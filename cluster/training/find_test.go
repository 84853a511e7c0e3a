package training

import (
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
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

// TestAllOfANameAreCancelled: two sessions may train a model of one name; both end, but not what somebody else trains.
func TestAllOfANameAreCancelled(t *testing.T) {
	const owner, other types.OID = 20001, 20002
	changes := []catalog.Change{&catalog.PutRole{Role: &catalog.Role{OID: owner, Name: "o"}}, &catalog.PutRole{Role: &catalog.Role{OID: other, Name: "a"}}}
	for i, by := range []types.OID{owner, owner, other} {
		changes = append(changes, &catalog.PutJob{Job: &catalog.Job{OID: types.OID(20010 + i), Schema: catalog.PublicOID, Model: "m", Owner: by, State: catalog.JobRunning}})
	}
	changes = append(changes, &catalog.PutJob{Job: &catalog.Job{OID: 20020, Schema: catalog.PublicOID, Model: "m", Owner: owner, State: catalog.JobFailed}})
	st, err := catalog.New().Apply(changes)
	if err != nil {
		t.Fatal(err)
	}
	name := []string{"public", "m"}
	got, err := cancelled(&query.Caller{Role: owner}, st, name)
	if want := []catalog.Change{&catalog.CancelJob{OID: 20010}, &catalog.CancelJob{OID: 20011}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := cancelled(&query.Caller{Role: 20003}, st, name); !pgerr.Is(err, pgerr.InsufficientPrivilege) {
		t.Errorf("a role that owns none cancels %v: %v", got, err)
	}
	if got, err := cancelled(&query.Caller{Role: owner}, st, []string{"public", "n"}); got != nil || err != nil {
		t.Errorf("no training: %v %v", got, err)
	}
}
