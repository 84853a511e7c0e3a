package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// profile is what the statements of a run are made of; all else, how they are sent,
// compared, reduced and counted, is the same for each.
type profile struct {
	trials  int // that share a schema
	changes int // of a hundred trials
	create  func(*generator) []change
	change  func(*generator) change
	trial   func(g *generator, peer bool) trial
}

var profiles = map[string]profile{
	"general": {400, 8, (*generator).create, (*generator).change, (*generator).trial},
	"edges":   {200, 20, (*generator).edgeTables, (*generator).edgeChange, (*generator).edgeTrial},
}

func (o Options) profile() (profile, error) {
	if o.Profile == "" {
		return profiles["general"], nil
	}
	p, ok := profiles[o.Profile]
	if !ok {
		return p, fmt.Errorf("no profile is called %q; there are %s", o.Profile, strings.Join(slices.Sorted(maps.Keys(profiles)), ", "))
	}
	return p, nil
}

// label names a run: what its choices come from.
func (o Options) label() string {
	label := fmt.Sprintf("seed%d", o.Seed)
	if o.Profile != "" && o.Profile != "general" {
		label = o.Profile + "-" + label
	}
	return label
}

// edges is what a round of that profile knows of its tables.
type edges struct {
	big   bool // it has a table for what spills, and no others
	limit int  // of memory for what spills, above the least, in kB
	fresh int  // the last key that was given
	rows  int  // of the table for trainings
}

// edgeTables makes the tables of a round for what once went wrong: either a large one
// for operators that spill, or small ones for all else. A failure is reduced by
// replaying its set-up, so large tables stay out of the way of the others.
func (g *generator) edgeTables() []change {
	g.edges = &edges{big: g.chance(40), fresh: 100}
	if g.edges.big {
		return statements(g.spillTables())
	}
	return statements(slices.Concat(g.setTables(), g.blockTables(), g.keyTables(), g.parentTables(), g.modelTables()))
}

func statements(list []string) []change {
	out := make([]change, len(list))
	for i, sql := range list {
		out[i].sql = sql
	}
	return out
}

func (g *generator) edgeChange() change {
	switch k := g.r.IntN(100); {
	case g.edges.big:
		return g.spillChange()
	case k < 50:
		return g.block()
	case k < 85:
		return g.withWrites()
	}
	return g.setChange()
}

func (g *generator) edgeTrial(peer bool) trial {
	if g.edges.big {
		return g.spill(peer)
	}
	t := trial{kind: "peer"}
	switch k := g.r.IntN(100); {
	case k < 28:
		t.parts = []string{g.setContext()}
	case k < 60:
		return g.strings(peer)
	case k < 94 || k < 96 && peer:
		t.parts, t.risky = []string{g.keyQuery()}, true
	default:
		return g.training()
	}
	if !peer {
		t.kind, t.knob = "settings", g.pick(knobs)
	}
	return t
}
