package suites

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestKeysAreDescribed proves that CONTRIBUTING.md has a sentence and an example of each key of an entry, and of no
// other, and that an entry of the example alone is read.
func TestKeysAreDescribed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	described := describedKeys(string(text))
	want := yamlKeys("", reflect.TypeFor[catalogue.Requirement]())
	if slices.Contains(want, "") || !slices.Contains(want, "sdks.got") {
		t.Fatalf("the keys are %q", want)
	}
	for _, key := range want {
		d, found := described[key]
		if !found {
			t.Errorf("CONTRIBUTING.md: there is no %q with a sentence and an example below The keys of an entry", key)
			continue
		}
		if example := exampleEntry(key, d.example); example == "" {
			t.Errorf("CONTRIBUTING.md: the example of %s is %q", key, d.example)
		} else if _, err := catalogue.ReadCatalogue([]byte(example)); err != nil {
			t.Errorf("CONTRIBUTING.md: the example of %s: %v in\n%s", key, err, example)
		}
		delete(described, key)
	}
	for key := range described {
		t.Errorf("CONTRIBUTING.md: an entry has no key %s", key)
	}
}

type keyDescription struct{ sentence, example string }

// describedKey finds a key, its sentences and its example.
var describedKey = regexp.MustCompile("(?ms)^- `([a-z_.]+)`: ([A-Z][^\n]*(?:\n  [^\n]+)*?\\.)\n  `([^\n]+)`$")

// describedKeys are the keys in the section of CONTRIBUTING.md, those below another key as asked.by.
func describedKeys(text string) map[string]keyDescription {
	_, section, _ := strings.Cut(text, "\n## The keys of an entry\n")
	section, _, _ = strings.Cut(section, "\n## ")
	described := map[string]keyDescription{}
	for _, found := range describedKey.FindAllStringSubmatch(section, -1) {
		described[found[1]] = keyDescription{found[2], found[3]}
	}
	return described
}

// yamlKeys are the keys of a struct, and of the structs in lists below it.
func yamlKeys(prefix string, of reflect.Type) (keys []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		key := field.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		keys = append(keys, prefix+key)
		element := field.Type
		if element.Kind() == reflect.Slice {
			element = element.Elem()
		}
		if element == reflect.TypeFor[catalogue.Deviation]() {
			keys = append(keys, yamlKeys(key+".", element)...)
		}
	}
	return keys
}

// exampleEntry is a file with an example as its only entry; empty when it is the example of another key.
func exampleEntry(key, example string) string {
	outer, inner, nested := strings.Cut(key, ".")
	switch {
	case nested && strings.HasPrefix(example, inner+": "):
		return "- " + outer + ":\n  - " + example + "\n"
	case !nested && strings.HasPrefix(example, key+": "):
		return "- " + example + "\n"
	}
	return ""
}

// TestDescribedKeys: what has no sentence or no example is not described.
func TestDescribedKeys(t *testing.T) {
	const text = "\n## The keys of an entry\n\n- `a`: One.\n  `a: 1`\n- `b`: Two\n  lines.\n  `b: 2`\n" +
		"- `c`: No example.\n" +
		"- `d`: no sentence\n  `d: 4`\n- `e.f`: Below `e`.\n  `f: 5`\n\n## Other\n\n- `g`: Not here.\n  `g: 6`\n"
	got := describedKeys(text)
	for key, want := range map[string]keyDescription{
		"a": {"One.", "a: 1"}, "b": {"Two\n  lines.", "b: 2"}, "e.f": {"Below `e`.", "f: 5"},
		"c": {}, "d": {}, "g": {},
	} {
		if got[key] != want {
			t.Errorf("%s: got %+v, want %+v", key, got[key], want)
		}
	}
}

// goExample finds a block of Go and the file that the text before it names.
var goExample = regexp.MustCompile("(?s)`([a-z_/-]+\\.go)` has\n\n *```go\n(.*?)\n *```\n")

// TestExamplesAreReal checks that each block of Go in CONTRIBUTING.md stands in the file that is named before it.
func TestExamplesAreReal(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := goExample.FindAllStringSubmatch(string(text), -1)
	if blocks := strings.Count(string(text), "```go\n"); len(found) != blocks || blocks == 0 {
		t.Fatalf("%d of %d blocks of Go are after a line that ends with the name of their file", len(found), blocks)
	}
	for _, m := range found {
		source, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(oneSpaced(string(source)), oneSpaced(m[2])) {
			t.Errorf("CONTRIBUTING.md: this is not in %s:\n%s", m[1], m[2])
		}
	}
}

// oneSpaced is a text with one space in place of each run of white space.
func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// fileInBackquotes finds names of files of Go and YAML.
var fileInBackquotes = regexp.MustCompile("`((?:[a-z]+/)*[a-z_]+\\.(?:go|yaml))`")

// TestFilesOfContributingExist checks that each file that CONTRIBUTING.md names is there, in the module or, without its
// folders, anywhere in it.
func TestFilesOfContributingExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := goFiles(t)
	yaml, _ := filepath.Glob(filepath.Join(root, "*", "*.yaml")) // fails for a bad pattern alone
	for _, m := range fileInBackquotes.FindAllStringSubmatch(string(text), -1) {
		named := func(file string) bool { return strings.HasSuffix("/"+filepath.ToSlash(file), "/"+m[1]) }
		if !slices.ContainsFunc(files, named) && !slices.ContainsFunc(yaml, named) && m[1] != "mcpcheck.yaml" {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist", m[1])
		}
	}
}
