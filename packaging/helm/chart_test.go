// Package helm has the chart; its test renders it as helm does, and checks what comes out.
package helm

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v3"
)

// render returns the chart's objects by kind and name, with some values set.
func render(t *testing.T, set string) (map[string]map[string]any, error) {
	t.Helper()
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var values, chart map[string]any
	for text, into := range map[string]*map[string]any{string(read("tributary/values.yaml")) + "\n": &values, string(read("tributary/Chart.yaml")): &chart} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	var own map[string]any
	if err := yaml.Unmarshal([]byte(set), &own); err != nil {
		t.Fatal(err)
	}
	maps.Copy(values, own)
	all := template.New("chart").Option("missingkey=error")
	funcs := sprig.TxtFuncMap()
	funcs["toYaml"] = func(v any) (string, error) {
		b, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(b), "\n"), err
	}
	funcs["include"] = func(name string, data any) (string, error) {
		var b strings.Builder
		err := all.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}
	funcs["fail"] = func(text string) (string, error) { return "", errors.New(text) }
	all.Funcs(funcs)
	files, err := filepath.Glob("tributary/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := all.New(f).Parse(string(read(f))); err != nil {
			t.Fatal(err)
		}
	}
	data := map[string]any{
		"Values": values, "Release": map[string]any{"Name": "db", "Namespace": "prod", "Service": "Helm"}, "Template": map[string]any{"BasePath": "tributary/templates"},
		"Chart": map[string]any{"Name": chart["name"], "AppVersion": chart["appVersion"]},
	}
	objects := map[string]map[string]any{}
	for _, f := range files {
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, f, data); err != nil {
			return nil, err
		}
		if !strings.HasSuffix(f, ".yaml") {
			continue
		}
		for dec := yaml.NewDecoder(strings.NewReader(out.String())); ; {
			var o map[string]any
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", f, err, out.String())
			}
			if o != nil {
				objects[o["kind"].(string)+" "+at(t, o, "metadata", "name").(string)] = o
			}
		}
	}
	return objects, nil
}

// at goes down a path of names and numbers.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok || m[p] == nil {
				t.Fatalf("there is no %q of %v", p, path)
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				t.Fatalf("there is no %d of %v", p, path)
			}
			v = l[p]
		}
	}
	return v
}

func TestChart(t *testing.T) {
	o, err := render(t, "certsSecret: db-certs\nhba: [{type: host, database: all, user: all, address: all, method: scram-sha-256}]\nserviceMonitor: {enabled: true, interval: 30s, basicAuthSecret: scrape}\nmemory: 5GiB\n")
	if err != nil {
		t.Fatal(err)
	}
	if kinds := slices.Sorted(maps.Keys(o)); !slices.Equal(kinds, []string{"ConfigMap db", "PodDisruptionBudget db", "Service db", "Service db-nodes", "ServiceMonitor db", "StatefulSet db"}) {
		t.Fatalf("%q", kinds)
	}
	set := o["StatefulSet db"]
	pod := at(t, set, "spec", "template", "spec")
	c := at(t, pod, "containers", 0)
	for _, check := range []struct{ got, want any }{
		{at(t, set, "spec", "serviceName"), "db-nodes"},
		{at(t, c, "image"), "registry.example.com/tributary:0.2.0"},
		{at(t, c, "args", 1), "--config=/etc/tributary/$(TRIBUTARY_NODE).yaml"},
		{at(t, c, "readinessProbe", "httpGet", "path"), "/readyz"},
		{at(t, c, "readinessProbe", "httpGet", "scheme"), "HTTPS"},
		{at(t, c, "lifecycle", "preStop", "sleep", "seconds"), 5},
		{at(t, c, "securityContext", "readOnlyRootFilesystem"), true},
		{at(t, pod, "securityContext", "runAsUser"), 65532},
		{at(t, pod, "topologySpreadConstraints", 0, "topologyKey"), "topology.kubernetes.io/zone"},
		{at(t, pod, "topologySpreadConstraints", 0, "labelSelector", "matchLabels", "app.kubernetes.io/instance"), "db"},
		{at(t, o["PodDisruptionBudget db"], "spec", "maxUnavailable"), 1},
		{at(t, o["ServiceMonitor db"], "spec", "endpoints", 0, "basicAuth", "password", "name"), "scrape"},
	} {
		if check.got != check.want {
			t.Errorf("%v instead of %v", check.got, check.want)
		}
	}
	// What a pod mounts is a volume of it, or a claim.
	volumes := map[any]bool{"data": true}
	for _, v := range at(t, pod, "volumes").([]any) {
		volumes[at(t, v, "name")] = true
	}
	for _, m := range at(t, c, "volumeMounts").([]any) {
		if !volumes[at(t, m, "name")] {
			t.Errorf("%v is mounted and is no volume", m)
		}
	}
	// Every service selects the pods.
	labels := at(t, set, "spec", "template", "metadata", "labels").(map[string]any)
	for _, name := range []string{"Service db", "Service db-nodes"} {
		for k, v := range at(t, o[name], "spec", "selector").(map[string]any) {
			if labels[k] != v {
				t.Errorf("%s selects %s=%v, which pods have not", name, k, v)
			}
		}
	}
	for name, want := range map[string]string{"db-0.yaml": "", "db-2.yaml": "db-0.db-nodes.prod.svc.cluster.local:7400,db-1.db-nodes.prod.svc.cluster.local:7400"} {
		if conf := config(t, o, name); want == "" && conf["join"] != nil || want != "" && conf["join"] != want || conf["certs"] != "/etc/tributary-certs" || conf["memory"] != "5GiB" {
			t.Errorf("%s: %v", name, conf)
		}
	}
}

// config is the configuration file of a node.
func config(t *testing.T, o map[string]map[string]any, name string) (conf map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(at(t, o["ConfigMap db"], "data", name).(string)), &conf); err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestChartWithoutCertificates(t *testing.T) {
	for set, says := range map[string]string{"{}": "certsSecret", "insecure: true": "clusterSecret"} {
		if _, err := render(t, set); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", set, err)
		}
	}
	o, err := render(t, "insecure: true\nclusterSecret: db\nbootstrap: false\n")
	if err != nil {
		t.Fatal(err)
	}
	conf := config(t, o, "db-0.yaml")
	if conf["insecure"] != true || conf["join-secret"] != "/etc/tributary-secret/cluster-secret" || !strings.HasPrefix(conf["join"].(string), "db-1.") {
		t.Errorf("%v", conf)
	}
	if o["ServiceMonitor db"] != nil {
		t.Error("a monitor that was not asked for")
	}
}
