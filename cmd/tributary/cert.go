package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tributarydb/tributary/cluster/tlsconf"
	"github.com/tributarydb/tributary/cmd/flags"
)

const certUsage = `Usage:
  tributary cert [--dir certs] ca                              the cluster's authority
  tributary cert [--dir certs] node --host H[,H] [--name N]    a node's certificate, for other nodes and for Postgres clients
  tributary cert [--dir certs] client --name USER              a database user's certificate, in place of a password
`

// cert makes certificates.
func cert(_ context.Context, args []string) error { return makeCert(args, os.Stdout) }

func makeCert(args []string, out io.Writer) error {
	fs := flags.New("cert", certUsage)
	dir := fs.String("dir", "certs", "directory of the authority, and of what is made")
	name := fs.String("name", "", "name of the node: its files go to a directory of this name; or of the database user")
	hosts := fs.String("host", "", "names and addresses under which the node is reached, separated by commas")
	if err := fs.Parse(args); err != nil {
		return err
	}
	what := fs.Arg(0)
	if fs.NArg() > 1 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(1))
	}
	switch what {
	case "ca":
		if err := tlsconf.CreateCA(*dir); err != nil {
			return err
		}
		fmt.Fprintf(out, "made %s, which every node and client gets,\nand  %s, which signs certificates: keep it off the nodes\n\n", filepath.Join(*dir, "ca.crt"), filepath.Join(*dir, "ca.key"))
		fmt.Fprintf(out, "Next, for each node: tributary cert --dir %s node --host HOST,ADDRESS --name NAME\n", *dir)
		return nil
	case "node":
		if *hosts == "" {
			return fmt.Errorf("--host is needed: the names and addresses under which other nodes and clients reach this one")
		}
		to := *dir
		if *name != "" {
			to = filepath.Join(*dir, *name)
		}
		var list []string
		for _, h := range strings.Split(*hosts, ",") {
			if h = strings.TrimSpace(h); h != "" {
				list = append(list, h)
			}
		}
		if err := tlsconf.CreateNode(*dir, to, list); err != nil {
			return err
		}
		fmt.Fprintf(out, "made %s and node.key for %s\n\n", filepath.Join(to, "node.crt"), strings.Join(list, ", "))
		fmt.Fprintf(out, "On the node:  tributary serve --certs %s …\n", to)
		fmt.Fprintf(out, "Then, from there, once for the cluster: ALTER ROLE tributary PASSWORD '…'\n")
		fmt.Fprintf(out, "With psql:    psql \"host=%s user=tributary dbname=tributary sslmode=verify-full sslrootcert=%s\"\n", list[0], filepath.Join(*dir, "ca.crt"))
		return nil
	case "client":
		if *name == "" {
			return fmt.Errorf("--name is needed: the database user")
		}
		if err := tlsconf.CreateClient(*dir, *name); err != nil {
			return err
		}
		base := filepath.Join(*dir, "client."+*name)
		fmt.Fprintf(out, "made %s.crt and %s.key\n\n", base, base)
		fmt.Fprintf(out, "With psql:    psql \"host=HOST user=%s dbname=tributary sslmode=verify-full sslrootcert=%s sslcert=%s.crt sslkey=%s.key\"\n",
			*name, filepath.Join(*dir, "ca.crt"), base, base)
		return nil
	case "":
		fs.Usage()
		return flag.ErrHelp
	}
	return fmt.Errorf("there is no kind of certificate %q\n%s", what, certUsage)
}
