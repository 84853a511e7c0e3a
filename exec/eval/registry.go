package eval

import (
	"strings"
	"sync"
)

// impls has the implementation of every scalar function by its fn.Func.ID.
var impls = sync.OnceValue(func() table {
	t := table{}
	addComparisons(t)
	registerText(t)
	registerMath(t)
	registerTime(t)
	addArrays(t)
	registerJSON(t)
	registerSystem(t)
	addConversions(t) // of what is not there yet
	for id, m := range t {
		if strings.Contains(id, "json") {
			t[id] = weighed(m)
		}
	}
	return t
})

// setImpls has those of the set-returning functions, but for listMakers'.
var setImpls = sync.OnceValue(func() map[string]setMaker {
	m := map[string]setMaker{}
	addSeries(m)
	addSetFunctions(m)
	addJSONSets(m)
	return m
})

// listMakers has those that read their argument where it lies.
var listMakers = map[string]listMaker{"unnest(anyarray)": unnest}
