package raftnode_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind. Those that wait for a
// future are ignored: raft does not complete futures that are queued when it
// shuts down.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"),
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"))
}
