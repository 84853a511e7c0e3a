package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/tributarydb/tributary/cluster/tlsconf"
	"github.com/tributarydb/tributary/wire/auth"
)

// access controls who may connect and how: the rules of the configuration and the
// certificates, which are reloaded on SIGHUP. Existing connections stay. The zero value
// is for a node without either.
type access struct {
	config, certs string
	rules         atomic.Pointer[auth.Rules]
	tls, peer     atomic.Pointer[tls.Config]
}

func loadAccess(config, certs string) (*access, error) {
	a := &access{config: config, certs: certs}
	return a, a.reload()
}

// reload reads the files again; on an error nothing changes.
func (a *access) reload() error {
	rules, err := readRules(a.config)
	if err != nil {
		return err
	}
	var conf, peer *tls.Config
	if a.certs != "" {
		certs, err := tlsconf.Load(a.certs)
		if err != nil {
			return err
		}
		conf, peer = certs.Server(), certs.Peer()
	}
	a.rules.Store(&rules)
	a.tls.Store(conf)
	a.peer.Store(peer)
	return nil
}

// Rules returns the current rules.
func (a *access) Rules() auth.Rules {
	if r := a.rules.Load(); r != nil {
		return *r
	}
	return nil
}

// TLS returns the current TLS configuration for clients; nil where there is none.
func (a *access) TLS() *tls.Config { return a.tls.Load() }

// Peer returns the current TLS configuration, of both ends, between nodes.
func (a *access) Peer() *tls.Config { return a.peer.Load() }

// names is a YAML value of one name, several separated by commas, or a list.
type names []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		for _, s := range strings.Split(node.Value, ",") {
			*n = append(*n, strings.TrimSpace(s))
		}
		return nil
	}
	return node.Decode((*[]string)(n))
}

// readRules reads the list hba of the configuration file.
func readRules(path string) (auth.Rules, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		HBA []struct {
			Type     string
			Database names
			User     names
			Address  string
			Method   auth.Method
		}
		Rest map[string]any `yaml:",inline"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out auth.Rules
	for _, r := range file.HBA {
		out = append(out, auth.Rule{Type: r.Type, Database: r.Database, User: r.User, Address: r.Address, Method: r.Method})
	}
	if err := out.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}
