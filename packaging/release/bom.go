package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
)

// component is a part of the program as CycloneDX writes it.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Note    string `json:"description,omitempty"`
}

// bom writes the list of the modules that Go says are in the program, as CycloneDX.
func (r *release) bom(b built) error {
	info, err := buildinfo.ReadFile(b.program)
	if err != nil {
		return err
	}
	var parts []component
	for _, m := range info.Deps {
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.Ref = c.PURL
		if m.Replace != nil {
			c.Note = "without its compute kernels"
		}
		parts = append(parts, c)
	}
	parts = append(parts, component{Type: "platform", Name: "go", Version: info.GoVersion, Ref: "go"})
	doc := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.when.Format("2006-01-02T15:04:05Z"),
			"component": component{Type: "application", Name: "tributary", Version: r.version, Ref: "tributary"},
		},
		"components": parts,
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("tributary_%s_%s_%s.cdx.json", r.version, b.os, b.arch), append(text, '\n'), 0o644)
}
