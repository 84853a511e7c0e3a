package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cmd/flags"
)

// recoverNode recovers from the loss of a majority; it works on the directory of a
// stopped node.
func recoverNode(_ context.Context, args []string) error {
	fs := flags.New("recover", "")
	data := fs.String("data", "./tributary-data", "directory of a stopped node's data")
	confirm := fs.Bool("confirm", false, "make this node the only voter of a cluster with a new id; commits that it has not received are lost")
	rejoin := fs.Bool("rejoin", false, "set this node's log aside, so that it joins the recovered cluster with the segments it has")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *confirm && *rejoin {
		return errors.New("--confirm is for one survivor, --rejoin for the others")
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := raftnode.Survey(*data, log)
	if err != nil {
		return err
	}
	fmt.Printf("node %x of cluster %s\nlast entry of its log: term %d, index %d\ntook part in the log:\n", s.Node, s.Cluster, s.Term, s.Index)
	for _, m := range s.Members {
		vote, self := "without a vote", ""
		if m.Voter {
			vote = "votes"
		}
		if m.ID == s.Node {
			self = " (this node)"
		}
		fmt.Printf("  node %x at %s, %s%s\n", m.ID, m.Addr, vote, self)
	}
	switch {
	case *confirm:
		if err := raftnode.Recover(*data, log); err != nil {
			return err
		}
		fmt.Println("This node is now the only voter of a new cluster. Start it without --join; give the other survivors\n`tributary recover --rejoin` and start them with --join; decommission the lost.")
	case *rejoin:
		if err := raftnode.Rejoin(*data, log); err != nil {
			return err
		}
		fmt.Println("The log was set aside. Start the node with --join and the address of the recovered one.")
	default:
		fmt.Println("Nothing was changed. If a majority of the voters is lost for good, compare the survivors: the one with the greatest\nterm, then index, has the most. There, --confirm makes a new cluster of it; what the lost nodes had committed\nand it has not received is lost. Never use it while a majority can come back.")
	}
	return nil
}
