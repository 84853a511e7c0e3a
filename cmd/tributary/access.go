package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/tributarydb/tributary/cluster/tlsconf"
	"github.com/tributarydb/tributary/wire/auth"
)

// access controls who may connect and how: the rules of the configuration and the
// certificates, which are reloaded on SIGHUP. Existing connections stay. The zero value
// is for a node without either.
type access struct {
	config, certs, tokenFile string
	rules                    atomic.Pointer[auth.Rules]
	tls, peer                atomic.Pointer[tls.Config]
	expires                  atomic.Int64           // when the node's certificate does, in seconds since 1970; 0 without
	token                    atomic.Pointer[string] // that lets programs read metrics
}

func loadAccess(config, certs, tokenFile string) (*access, error) {
	a := &access{config: config, certs: certs, tokenFile: tokenFile}
	return a, a.reload()
}

// reload reads the files again; on an error nothing changes.
func (a *access) reload() error {
	rules, err := readRules(a.config)
	if err != nil {
		return err
	}
	var conf, peer *tls.Config
	var expires int64
	if a.certs != "" {
		certs, err := tlsconf.Load(a.certs)
		if err != nil {
			return err
		}
		conf, peer, expires = certs.Server(), certs.Peer(), certs.Expires().Unix()
	}
	var token string
	if a.tokenFile != "" {
		b, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return err
		}
		if token = strings.TrimSpace(string(b)); len(token) < leastToken {
			return fmt.Errorf("the token in %s is too short: it needs %d characters at least", a.tokenFile, leastToken)
		}
	}
	a.rules.Store(&rules)
	a.tls.Store(conf)
	a.peer.Store(peer)
	a.expires.Store(expires)
	a.token.Store(&token)
	return nil
}

// Rules returns the current rules.
func (a *access) Rules() auth.Rules {
	if r := a.rules.Load(); r != nil {
		return *r
	}
	return nil
}

// leastToken is the least length of the token for metrics.
const leastToken = 16

// Token returns the token that lets programs read metrics; "" for none.
func (a *access) Token() string {
	if t := a.token.Load(); t != nil {
		return *t
	}
	return ""
}

var expiryDesc = prometheus.NewDesc("tributary_certificate_expiry_timestamp_seconds", "When the node's certificate expires.", nil, nil)

// Describe implements prometheus.Collector.
func (a *access) Describe(ch chan<- *prometheus.Desc) { ch <- expiryDesc }

// Collect implements prometheus.Collector.
func (a *access) Collect(ch chan<- prometheus.Metric) {
	if at := a.expires.Load(); at != 0 {
		ch <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(at))
	}
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
