// Package helm has the chart; its tests are helm's template and lint, and checks of what comes out.
package helm

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// render returns the chart's objects by kind and name as helm makes them, with some values set. What Kubernetes' own
// types do not know is an error; those of others, such as ServiceMonitor, are taken as they come.
func render(t *testing.T, set string) (map[string]map[string]any, error) {
	t.Helper()
	chart, err := loader.Load("tributary")
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(chart, valuesOf(t, set), chartutil.ReleaseOptions{Name: "db", Namespace: "prod", IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for name, file := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, text := range releaseutil.SplitManifests(file) {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			kind := at(t, o, "kind").(string)
			var typed any
			switch at(t, o, "apiVersion").(string) + " " + kind {
			case "apps/v1 StatefulSet":
				typed = new(apps.StatefulSet)
			case "v1 Service":
				typed = new(core.Service)
			case "v1 ConfigMap":
				typed = new(core.ConfigMap)
			case "policy/v1 PodDisruptionBudget":
				typed = new(policy.PodDisruptionBudget)
			case "monitoring.coreos.com/v1 ServiceMonitor":
				typed = new(any)
			default:
				t.Fatalf("%s: %s has no type to be held against", name, kind)
			}
			if err := yaml.UnmarshalStrict([]byte(text), typed); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			objects[kind+" "+at(t, o, "metadata", "name").(string)] = o
		}
	}
	return objects, nil
}

func valuesOf(t *testing.T, set string) (values map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(set), &values); err != nil {
		t.Fatal(err)
	}
	return values
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

// full sets most of what can be set.
const full = `
certsSecret: db-certs
hba: [{type: host, database: all, user: all, address: all, method: scram-sha-256}]
serviceMonitor: {enabled: true, interval: 30s, basicAuthSecret: scrape}
memory: 5GiB
storage: {size: 1Ti, className: fast}
env: [{name: TRIBUTARY_THREADS, value: "4"}]
podAnnotations: {a: b}
nodeSelector: {disk: nvme}
tolerations: [{key: database, operator: Exists}]
imagePullSecrets: [{name: registry}]
`

// TestLint: helm has nothing to say against the chart, but that it has no icon.
func TestLint(t *testing.T) {
	for _, m := range lint.All("tributary", valuesOf(t, full), "prod", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

func TestChart(t *testing.T) {
	o, err := render(t, full)
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
		{at(t, c, "lifecycle", "preStop", "sleep", "seconds"), 5.0},
		{at(t, c, "securityContext", "readOnlyRootFilesystem"), true},
		{at(t, pod, "securityContext", "runAsUser"), 65532.0},
		{at(t, pod, "topologySpreadConstraints", 0, "topologyKey"), "topology.kubernetes.io/zone"},
		{at(t, c, "env", 1, "valueFrom", "fieldRef", "fieldPath"), "metadata.labels['topology.kubernetes.io/zone']"},
		{at(t, pod, "topologySpreadConstraints", 0, "labelSelector", "matchLabels", "app.kubernetes.io/instance"), "db"},
		{at(t, o["PodDisruptionBudget db"], "spec", "maxUnavailable"), 1.0},
		{at(t, o["ServiceMonitor db"], "spec", "endpoints", 0, "basicAuth", "password", "name"), "scrape"},
	} {
		if check.got != check.want {
			t.Errorf("%v instead of %v", check.got, check.want)
		}
	}
	// Without an address the shell would set the password in an engine of its own.
	if notes, err := os.ReadFile("tributary/templates/NOTES.txt"); err != nil || !strings.Contains(string(notes), "tributary sql -h 127.0.0.1 -c") {
		t.Errorf("%v\n%s", err, notes)
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
