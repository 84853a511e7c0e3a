package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/console"
	"github.com/tributarydb/tributary/wire/http"
	"github.com/tributarydb/tributary/wire/pg"
	"github.com/tributarydb/tributary/wire/site"
)

// server is a node with its listeners.
type server struct {
	node    *node.Node
	pg      net.Listener
	http    net.Listener
	wire    *pg.Server
	page    *http.Server
	console *console.Console
	access  *access
	log     *slog.Logger
	failed  chan error // of a listener
	// stopTurns is what processors returned.
	stopTurns func()
}

// startServer opens the listeners, starts the node and serves. Ports 0 are
// resolved before the node starts, so that the cluster learns the real ones. Without an
// address for clients only this process can connect (dial), and without one for the page there is none.
func startServer(ctx context.Context, o node.Options, listenPG, listenHTTP string, insecure bool, access *access) (_ *server, err error) {
	s := &server{access: access, log: o.Log, failed: make(chan error, 2), stopTurns: processors()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(0))
		}
	}()
	if listenPG != "" {
		if s.pg, err = net.Listen("tcp", listenPG); err != nil {
			return nil, err
		}
		o.PG = s.pg.Addr().String()
	}
	if listenHTTP != "" {
		if s.http, err = net.Listen("tcp", listenHTTP); err != nil {
			return nil, err
		}
		o.HTTP = s.http.Addr().String()
	}
	o.Version, o.Password = version, auth.Verifier
	if access.Peer() != nil {
		o.TLS = access.Peer
	}
	if s.node, err = node.Start(ctx, o); err != nil {
		return nil, err
	}
	o.Log, s.log = s.node.Log(), s.node.Log()
	s.wire = pg.NewServer(pg.Options{Engine: engine{s.node.Engine()}, TLS: s.access.TLS, Rules: s.access.Rules, Insecure: insecure, Log: o.Log, Audit: o.Audit, Refused: s.node.Refused, Patient: cores == 1,
		Account: func() pg.Account { return s.node.Account("client message") }})
	if s.pg != nil {
		go func() { s.failed <- s.wire.Serve(s.pg) }()
	}
	if s.http == nil {
		return s, nil
	}
	// The statements of others and the profiles are for superusers.
	d := superusers{s.node}
	if s.console, err = console.New(console.Options{Dial: s.wire.Dial, Node: s.node.Name(), Version: version, Role: catalog.BootstrapRole, Database: catalog.DatabaseName,
		Open: func() bool {
			return len(s.access.Rules()) == 0 && d.n.Catalog().RoleByName(catalog.BootstrapRole).Password == ""
		},
		Account: func() pg.Account { return s.node.Account("console") }, Log: o.Log}); err != nil {
		return nil, err
	}
	web := http.Options{Source: s.node, Console: s.console, Manual: site.Handler(), Log: o.Log, Allow: d.allow, Watch: d.watch, Open: d.open, Token: access.Token,
		Collectors: []prometheus.Collector{s.wire.Metrics(), access}}
	if !insecure && guardListen(listenHTTP, false) != nil {
		web.Open = nil
		if s.access.TLS() != nil {
			web.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.access.TLS(), nil }}
		}
	}
	s.page = http.NewServer(web)
	go func() { s.failed <- s.page.Serve(s.http) }()
	return s, nil
}

// close lets connections drain for so long, then stops the server.
func (s *server) close(drain time.Duration) error {
	defer s.stopTurns()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if s.page != nil {
		s.page.Close()
	} else if s.http != nil {
		_ = s.http.Close()
	}
	if s.console != nil {
		s.console.Close()
	}
	left := 0
	if s.wire != nil {
		left = s.wire.Close(ctx)
	} else if s.pg != nil {
		_ = s.pg.Close()
	}
	if s.node == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- s.node.Close() }() // ends with the process
	select {
	case err := <-closed:
		return err
	case <-time.After(stopGrace):
		s.log.Error("the node stops though work on it does not end", "sessions", left)
		return nil
	}
}

// stopGrace bounds the stop of a node once no session waits for it. What is left then is work that does not
// heed its cancellation, for this node or another: nothing that was acknowledged depends on it.
const stopGrace = 30 * time.Second

// dial connects a client in this process; what address is asked for does not matter. A port of loopback
// would be open to every user of the machine.
func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	return s.wire.Dial(pg.Origin{Remote: &net.UnixAddr{Net: "unix"}, Local: &net.UnixAddr{Net: "unix"}}), nil
}
