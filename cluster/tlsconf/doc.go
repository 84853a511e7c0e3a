// Package tlsconf makes and loads the certificates of a cluster, and the TLS
// configurations of nodes: each end of a connection between nodes shows a
// certificate that the cluster's own authority signed.
//
//	certs/
//	  ca.crt  ca.key            the authority: keep the key off the nodes
//	  node.crt  node.key        one a node: its names and addresses
//	  client.NAME.crt  .key     a database user's
//
// It decides nothing about when TLS is used.
package tlsconf
