package schemas

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// otherMessages are the definitions that only checks name, and no method or error code.
var otherMessages = []string{"Error", "CreateTaskResult", "SkillsSettings", "UISettings", "UITool", "UIResource"}

// tables are all maps from methods to definitions.
func (p part) tables() []map[string]string {
	var all []map[string]string
	for _, sent := range []side{p.server, p.client} {
		all = append(all, sent.results, sent.notifications, sent.requests, sent.inputs)
		all = slices.AppendSeq(all, maps.Values(sent.resultTypes))
	}
	return all
}

// TestSource proves the rules at the head of messages.yaml: every definition compiles and is used by a message of its
// revision, every definition that a method names exists, and required members are declared.
func TestSource(t *testing.T) {
	for _, revision := range messages().Revisions {
		set := messagesOf(revision)
		roots := slices.Clone(otherMessages)
		for _, r := range set.codes {
			roots = append(roots, ErrorDefinition(revision, r.From))
		}
		tables := set.tables()
		for _, extension := range set.extensions {
			tables = append(tables, extension.tables()...)
		}
		for _, names := range tables {
			for method, name := range names {
				roots = append(roots, name)
				if set.schemas[name] == nil {
					t.Errorf("%s: %s: no definition %s", revision, method, name)
				}
			}
		}
		used := map[string]any{}
		for _, root := range roots {
			collectRefs(set.schemas, "#/$defs/"+root, used)
		}
		for name := range set.schemas {
			if used[name] == nil {
				t.Errorf("%s: no message uses the definition %s", revision, name)
			}
			set.compile[name]()
		}
		checkSource(t, revision, "", map[string]any(set.schemas))
	}
}

// TestSourceNamesRevisions proves that every revision that a row names is listed, since the row has no effect
// otherwise.
func TestSourceNamesRevisions(t *testing.T) {
	named := regexp.MustCompile(`(?:since|before): ([^,}\s]+)`)
	for _, text := range append(extensionTexts(), messagesYAML) {
		for _, m := range named.FindAllSubmatch(text, -1) {
			if !slices.Contains(messages().Revisions, string(m[1])) {
				t.Errorf("%s is not a listed revision", m[0])
			}
		}
	}
}

// checkSource checks a resolved schema and everything in it.
func checkSource(t *testing.T, revision, path string, schema any) {
	t.Helper()
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if properties[name.(string)] == nil {
				t.Errorf("%s: %s requires %q and does not declare it", revision, path, name)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(schema)) {
			if _, ok := schema[key].(string); ok && (key == "since" || key == "before" || key == "is") {
				t.Errorf("%s: %s: %s was not resolved", revision, path, key)
			}
			checkSource(t, revision, path+"/"+key, schema[key])
		}
	case []any:
		for _, entry := range schema {
			checkSource(t, revision, path, entry)
		}
	}
}

// TestRevisionsAreRows proves that a revision in which nothing changes needs only its name in messages.yaml, and works
// without it.
func TestRevisionsAreRows(t *testing.T) {
	const revision = "2099-12-31"
	newest := messages().Revisions[len(messages().Revisions)-1]
	listed := readMessages(bytes.Replace(messagesYAML, []byte(newest+"]"), []byte(newest+", "+revision+"]"), 1))
	if !slices.Contains(listed.Revisions, revision) {
		t.Fatalf("the row was not added to %v", listed.Revisions)
	}
	want, got := messagesOf(newest), listed.set(revision)
	for name, both := range map[string][2]any{
		"definitions": {want.schemas, got.schemas},
		"protocol":    {want.part, got.part},
		"extensions":  {want.extensions, got.extensions},
		"error codes": {want.codes, got.codes},
	} {
		if diff := cmp.Diff(both[0], both[1], cmp.AllowUnexported(part{}, side{})); diff != "" {
			t.Errorf("%s (-%s +%s)\n%s", name, newest, revision, diff)
		}
	}
	if messagesOf(revision) != want {
		t.Errorf("%s does not fall to %s where it is not listed", revision, newest)
	}
}
