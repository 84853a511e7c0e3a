package pmml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/shape"
)

// centroids writes the nearest of some points and how far it is.
func (d *document) centroids(m *markup, p *part, s *shape.Centroids, name string) {
	fields := slices.Clone(d.dense)
	for _, c := range d.codes {
		for slot := range c.slots {
			is := apply("if", apply("equal", field(c.field), whole(slot)), constant(1), constant(0))
			here := apply("if", apply("isMissing", field(c.field)), constant(0), is)
			fields = append(fields, d.derive(c.field+" = "+strconv.Itoa(slot), "continuous", "double", here))
		}
	}
	m.open("ClusteringModel", "modelName", name, "functionName", "clustering", "algorithmName", p.algorithm, "modelClass", "centerBased", "numberOfClusters", strconv.Itoa(s.K))
	d.schema(m, *p)
	m.open("Output")
	m.empty("OutputField", "name", p.output, "optype", "categorical", "dataType", "integer", "feature", "predictedValue")
	m.empty("OutputField", "name", d.name("distance"), "optype", "continuous", "dataType", "double", "feature", "affinity")
	m.close("Output")
	d.begun(m)
	m.open("ComparisonMeasure", "kind", "distance")
	m.empty("euclidean")
	m.close("ComparisonMeasure")
	for _, f := range fields {
		m.empty("ClusteringField", "field", f, "compareFunction", "absDiff")
	}
	for k := range s.K {
		m.open("Cluster", "id", strconv.Itoa(k+1))
		at := make([]string, len(fields))
		for j, v := range s.At[k*len(fields):][:len(fields)] {
			at[j] = number(v)
		}
		m.leaf("Array", strings.Join(at, " "), "type", "real", "n", strconv.Itoa(len(at)))
		m.close("Cluster")
	}
	m.close("ClusteringModel")
}
