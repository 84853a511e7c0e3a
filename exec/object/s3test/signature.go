package s3test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// refused returns the code of a request whose signature (AWS' version 4) is not by one of the server's keys.
func (s *Server) refused(r *http.Request, body []byte) string {
	auth, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "AccessDenied"
	}
	fields := map[string]string{}
	for f := range strings.SplitSeq(auth, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[k] = v
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 {
		return "AccessDenied"
	}
	secret, ok := s.keys[scope[0]]
	if !ok {
		return "InvalidAccessKeyId"
	}
	payload := r.Header.Get("X-Amz-Content-Sha256")
	if len(payload) == 64 && payload != hex.EncodeToString(sum(body)) {
		return "XAmzContentSHA256Mismatch"
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	var head strings.Builder
	for _, h := range signed {
		v := r.Header.Get(h)
		if h == "host" {
			v = r.Host
		}
		head.WriteString(h + ":" + strings.TrimSpace(v) + "\n")
	}
	query := []string{}
	for k, vs := range r.URL.Query() {
		for _, v := range vs {
			query = append(query, escape(k)+"="+escape(v))
		}
	}
	slices.Sort(query)
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), strings.Join(query, "&"), head.String(), fields["SignedHeaders"], payload}, "\n")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hex.EncodeToString(sum([]byte(canonical)))}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope[1:] {
		key = mac(key, part)
	}
	if hex.EncodeToString(mac(key, text)) != fields["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
