package raftnode_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind. Goroutines that wait for a raft future are
// ignored: raft never completes the futures that are queued when it shuts down.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"),
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"))
}
