package train

import (
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/sql/codec"
)

func TestManualLayout(t *testing.T) {
	manual.Part(t, "docs/explanation/layouts.md", "tasks", "```\n"+codec.Layout(copiesTask{}, recountTask{}, holdout.Copies{}, holdout.Holdout{}, finished{}, sendTask{}, frequentTask{}, shareTask{},
		weightTask{}, targetWeights{}, usages{})+"```")
}
