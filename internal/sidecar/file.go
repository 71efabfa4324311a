package sidecar

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a settings file, in bytes.
const maxFile = 1 << 20

// An assignment is a setting's text as a file or a flag has it.
type assignment struct {
	where, key, text string
}

// readFile returns the assignments of a settings file, which is YAML: mappings whose names are the
// parts of the settings' keys. What isn't understood is in errs, each with its line.
func readFile(name string) (all []assignment, errs SettingErrors) {
	f, err := os.Open(name)
	if err != nil {
		return nil, SettingErrors{{Reason: "settings: " + err.Error()}}
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, SettingErrors{{Reason: "settings: " + err.Error()}}
	case len(b) > maxFile:
		return nil, SettingErrors{{Where: name, Reason: "is larger than 1 MiB"}}
	}
	return parse(name, string(b))
}

// parse is readFile for what a file holds.
func parse(name, text string) ([]assignment, SettingErrors) {
	r := reader{name: name, known: keys()}
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil // nothing but comments
	case err != nil:
		return nil, SettingErrors{r.syntax(err)}
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.wrong(&doc, "", "has more than one document, or rubbish behind the first")
		return nil, r.errs
	}
	if root := doc.Content[0]; root.Kind == yaml.MappingNode {
		r.mapping("", root)
	} else if root.Tag != "!!null" {
		r.wrong(root, "", "is not a mapping of settings, as in upstream: https://api.example")
	}
	return r.all, r.errs
}

// keys tells of each prefix of a setting's key whether it is a whole key.
func keys() map[string]bool {
	known := make(map[string]bool)
	for _, s := range Defaults().Table() {
		for i, c := range s.Key {
			if c == '.' {
				known[s.Key[:i]] = false
			}
		}
		known[s.Key] = true
	}
	return known
}

// A reader walks a file's nodes.
type reader struct {
	name  string
	known map[string]bool
	all   []assignment
	errs  SettingErrors
}

func (r *reader) where(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.name, n.Line) }

func (r *reader) wrong(n *yaml.Node, key, format string, args ...any) {
	r.errs = append(r.errs, &SettingError{Where: r.where(n), Key: key, Reason: fmt.Sprintf(format, args...)})
}

// syntax takes the parser's "yaml: line 3: " for the place.
func (r *reader) syntax(err error) *SettingError {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		return &SettingError{Where: fmt.Sprintf("%s:%d", r.name, line), Reason: text}
	}
	return &SettingError{Where: r.name, Reason: text}
}

func (r *reader) mapping(prefix string, n *yaml.Node) {
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		key := prefix + name.Value
		if first, again := lines[key]; again {
			r.wrong(name, key, "is there a second time; the first is in line %d", first)
			continue
		}
		lines[key] = name.Line
		r.entry(key, name, value)
	}
}

func (r *reader) entry(key string, name, value *yaml.Node) {
	whole, known := r.known[key]
	switch {
	case !known:
		r.wrong(name, key, "is no setting%s", r.near(key))
	case value.Kind == yaml.AliasNode || value.Anchor != "":
		r.wrong(value, key, "anchors and aliases aren't taken; write the value out")
	case !whole && value.Kind == yaml.MappingNode:
		r.mapping(key+".", value)
	case !whole && value.Tag == "!!null": // a heading whose settings are all commented out
	case !whole:
		r.wrong(value, key, "has settings below it, and no value of its own")
	default:
		if text, ok := r.text(key, value); ok {
			r.all = append(r.all, assignment{r.where(value), key, text})
		}
	}
}

// text is a value as a flag would have it: a list has commas between its entries.
func (r *reader) text(key string, n *yaml.Node) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return n.Value, true
	}
	var items []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || n.Kind != yaml.SequenceNode {
			r.wrong(item, key, "has a value of several parts; give one value, or a list of them")
			return "", false
		}
		items = append(items, item.Value)
	}
	if len(items) == 0 {
		r.wrong(n, key, "has no value; leave the line out, or write none")
		return "", false
	}
	return strings.Join(items, ","), true
}

// near tells which setting may have been meant.
func (r *reader) near(key string) string {
	best, least := "", max(len(key)/3, 2)+1
	for k := range r.known {
		if d := distance(key, k); d < least || d == least && k < best {
			best, least = k, d
		}
	}
	if best != "" {
		return "; did you mean " + best + "?"
	}
	return "; connwise proxy --print-config lists all"
}

// distance is how many letters have to be put in, taken away or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
