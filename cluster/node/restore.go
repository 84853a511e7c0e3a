package node

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Restore makes an empty directory that of the first node of a new cluster, which has the state of a backup of a name and its
// files. The state, which is the caller's alone, becomes the new cluster's.
func Restore(ctx context.Context, data string, dir *backup.Dir, name string, state *catalog.State, log *slog.Logger) error {
	return raftnode.Found(data, log, rpc.Secret{}, func(cluster catalog.ClusterID, node uint64) (_ *catalog.State, err error) {
		st, err := store.Open(store.Options{Dir: filepath.Join(data, "segments"), Node: node})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		err = backup.Each(ctx, state, func(ctx context.Context, f *catalog.Segment) error {
			in, err := st.Receive(f)
			if err != nil {
				return err
			}
			err = dir.Give(ctx, name, f, func(block []byte) error {
				_, err := in.Write(block)
				return err
			})
			if err != nil {
				in.Abort()
				return err
			}
			return in.Commit()
		})
		catalog.Refound(state, cluster, node)
		return state, err
	})
}
