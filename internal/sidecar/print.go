package sidecar

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML returns all settings with what they mean, as a file that Load would take. Passwords in URLs
// are left out.
func (s *Settings) YAML() string {
	var b strings.Builder
	var open []string // the mappings that the line before was in
	for _, t := range s.Table() {
		path := strings.Split(t.Key, ".")
		groups, name := path[:len(path)-1], path[len(path)-1]
		for i, g := range groups {
			if i >= len(open) || open[i] != g {
				b.WriteString(indent(i) + g + ":\n")
				open = append(open[:i:i], g)
			}
		}
		open = open[:len(groups)]
		b.WriteString(indent(len(groups)) + "# " + t.Doc + "\n")
		b.WriteString(indent(len(groups)) + name + ": " + scalar(t.Value.String()) + "\n")
	}
	return b.String()
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// scalar is text with quotes where YAML needs them.
func scalar(text string) string {
	if text == "" {
		return `""`
	}
	b, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Value: text})
	if err != nil {
		return `"` + text + `"`
	}
	return strings.TrimSuffix(string(b), "\n")
}
