package object

import (
	"os"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Access is how an S3-compatible store is reached.
type Access struct {
	// Who names those that share the access: a secret as it was made at one time, or "" for the node. What is read with one
	// access is not given to another.
	Who                  string
	KeyID, Secret, Token string // not of the node
	Region               string
	Endpoint             string // host:port or a URL; "" for AWS
	URLStyle             string // "path" or "vhost"; "" for what is usual at the endpoint
	SSL                  bool   // of an endpoint without a scheme
}

// nodeAccess is the access by the node's environment.
func nodeAccess() Access {
	return Access{Region: first("AWS_REGION", "AWS_DEFAULT_REGION"), Endpoint: first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), SSL: true}
}

// first returns the first variable of the environment that is set.
func first(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

// address returns the endpoint's host and whether TLS is spoken there.
func (a Access) address() (host string, tls bool, err error) {
	host, tls = a.Endpoint, a.SSL
	if scheme, rest, ok := strings.Cut(host, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return "", false, pgerr.New(pgerr.InvalidParameterValue, "invalid endpoint %q of an object store", a.Endpoint)
		}
		host, tls = rest, scheme == "https"
	}
	if host = strings.TrimSuffix(host, "/"); host == "" {
		host = "s3.amazonaws.com"
	}
	if strings.ContainsAny(host, "/@?#") {
		return "", false, pgerr.New(pgerr.InvalidParameterValue, "invalid endpoint %q of an object store", a.Endpoint).WithHint("It is host:port, or http:// or https:// and that.")
	}
	return host, tls, nil
}

// provider returns where the keys come from: the secret, or the node's chain, which is the environment, the shared
// file of credentials, and what the environment names: a web identity, or the credentials of a container. The
// addresses of cloud machines' metadata are asked only where AWS_EC2_METADATA_DISABLED is false: elsewhere somebody
// else may answer there, or nobody for long. Without keys requests are anonymous.
func (a Access) provider() *credentials.Credentials {
	if a.Who != "" {
		kind := credentials.SignatureV4
		if a.KeyID == "" {
			kind = credentials.SignatureAnonymous
		}
		return credentials.NewStatic(a.KeyID, a.Secret, a.Token, kind)
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if first("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" ||
		strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "false") {
		chain = append(chain, &credentials.IAM{})
	}
	return credentials.NewChainCredentials(chain)
}
