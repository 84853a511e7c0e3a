package builtin

import (
	"github.com/tributarydb/tributary/exec/cast"
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/arrayfn"
	"github.com/tributarydb/tributary/exec/function/jsonfn"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/exec/function/netfn"
	"github.com/tributarydb/tributary/exec/function/setfn"
	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/exec/function/textfn"
	"github.com/tributarydb/tributary/exec/function/timefn"
	"strings"
	"sync"
)

// Scalars has the implementation of every scalar function by its fn.Func.ID.
var Scalars = sync.OnceValue(func() function.Table {
	t := function.Table{}
	compare.Register(t)
	textfn.Register(t)
	mathfn.Register(t)
	timefn.Register(t)
	arrayfn.Register(t)
	jsonfn.Register(t)
	netfn.Register(t)
	sysfn.Register(t)
	cast.Register(t) // of what is not there yet
	for id, m := range t {
		if strings.Contains(id, "json") {
			t[id] = function.ChargeTrees(m)
		}
	}
	return t
})

// Sets has those of the set-returning functions, except ListSets.
var Sets = sync.OnceValue(func() map[string]function.SetMaker {
	m := map[string]function.SetMaker{}
	setfn.AddSeries(m)
	setfn.AddSplits(m)
	setfn.AddModels(m)
	jsonfn.AddSets(m)
	sysfn.AddObjects(m)
	return m
})

// ListSets has those that read their argument in place.
var ListSets = sync.OnceValue(func() map[string]function.ListMaker {
	m := map[string]function.ListMaker{"unnest(anyarray)": setfn.Unnest}
	jsonfn.AddLists(m)
	setfn.AddLists(m)
	return m
})
