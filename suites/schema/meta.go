package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

var metaChecks = check.Suite{
	"schema/meta-is-object": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/meta-is-object", "_meta that is an object", "_meta",
			validateMessages(t, w).Filter(hasPart("_meta")))
	}),

	"schema/meta-key-format": check.Watch(func(t *check.T, w check.Wire) {
		eachMetaKey(t, w, "_meta key", anyKey, func(t *check.T, key, where string) {
			t.Expect(protocol.IsMetaKey(key)).To(check.BeTrue("a _meta key of the form prefix/name", "%q in %s", key,
				where))
		})
	}),

	"schema/meta-reserved-prefix": check.Watch(func(t *check.T, w check.Wire) {
		eachMetaKey(t, w, "_meta key with a prefix", protocol.IsPrefixedMetaKey, func(t *check.T, key, where string) {
			free := !isReserved(prefixLabels(key), t.Revision) || isDefined(t, key)
			tolerated := free || isPublished(t, key)
			t.Expect(tolerated).To(check.BeTrue("a _meta key under a prefix that is not reserved", "%q in %s", key,
				where))
			t.ExpectAdvice(free).To(check.BeTrue("a _meta key that this revision defines", "%q in %s", key, where))
		})
	}),

	"schema/meta-reverse-dns-prefix": check.Watch(func(t *check.T, w check.Wire) {
		eachMetaKey(t, w, "_meta key with a prefix", protocol.IsPrefixedMetaKey, func(t *check.T, key, where string) {
			if t.IsModern() && key == "ui/resourceUri" {
				t.Skip("%s is an old key of the extension of apps", key)
			}
			labels := prefixLabels(key)
			reversed := isTopLevelDomain(labels[0])
			forward := !reversed && slices.Contains(frequentTLDs, labels[len(labels)-1])
			t.Expect(!forward).To(check.BeTrue("a _meta prefix in reverse DNS order, such as com.example/",
				"%q in %s", key, where))
			t.ExpectAdvice(reversed).To(check.BeTrue("a _meta prefix that begins with a top-level domain", "%q in %s",
				key,
				where))
		})
	}),
}

// metaEntry is a member of a _meta.
type metaEntry struct {
	key   string
	value any
	part  part
}

// Subject names the key and shows the _meta.
func (k metaEntry) Subject() check.Subject {
	s := k.part.Subject()
	s.Name = k.key
	return s
}

// eachMetaKey tries a check on every key of a _meta that passes the test, once for each key; where says what has it.
func eachMetaKey(
	t *check.T, w check.Wire, what string, test func(string) bool, run func(t *check.T, key, where string),
) {
	seen := map[string]bool{}
	keys := slices.DeleteFunc(metaEntries(t, w, test), func(k metaEntry) bool {
		again := seen[k.key]
		seen[k.key] = true
		return again
	})
	check.Judge(t, what, keys, metaEntry.Subject, func(t *check.T, k metaEntry) { run(t, k.key, k.part.name) })
}

// metaEntries are the members of every _meta whose key passes the test.
func metaEntries(t *check.T, w check.Wire, test func(string) bool) (members []metaEntry) {
	for _, p := range validateMessages(t, w).Parts("_meta") {
		meta, _ := p.value.(check.M)
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			if test(key) {
				members = append(members, metaEntry{key, meta[key], p})
			}
		}
	}
	return members
}

func anyKey(string) bool { return true }

// prefixLabels are the labels of the prefix of a key.
func prefixLabels(key string) []string {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.Split(strings.ToLower(prefix), ".")
}

// isReserved reports whether a prefix of these labels is kept for MCP. Until 2025-06-18 that was so where any label but
// the last is a name of MCP, since then where the second one is.
func isReserved(labels []string, revision string) bool {
	ofMCP := func(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }
	if revision < "2025-11-25" {
		return slices.ContainsFunc(labels[:len(labels)-1], ofMCP)
	}
	return len(labels) > 1 && ofMCP(labels[1])
}

// isDefined reports whether a key under a reserved prefix is one of the revision, or of an extension that the server
// declares.
func isDefined(t *check.T, key string) bool {
	if !t.IsModern() {
		return slices.Contains(legacyMetaKeys, key)
	}
	declared, _ := t.Server.Capabilities["extensions"].(check.M)
	return slices.Contains(modernMetaKeys, key) || isOfExtension(key, slices.Collect(maps.Keys(declared)))
}

// isPublished reports whether a key under a reserved prefix is one of a later revision, or of a published extension.
func isPublished(t *check.T, key string) bool {
	if !t.IsModern() {
		return slices.Contains(modernMetaKeys, key) || slices.Contains([]string{tasksExtension, appsExtension}, key)
	}
	return isOfExtension(key, []string{tasksExtension, appsExtension, skillsExtension})
}

// isOfExtension reports whether a key belongs to one of some extensions: it is the identifier of the extension, or has
// it for a prefix, as "com.example.search/rank" that of com.example/search.
func isOfExtension(key string, identifiers []string) bool {
	return slices.ContainsFunc(identifiers, func(id string) bool {
		return key == id || strings.HasPrefix(key, strings.Replace(id, "/", ".", 1)+"/")
	})
}

// The published extensions.
const (
	tasksExtension  = "io.modelcontextprotocol/tasks"
	appsExtension   = "io.modelcontextprotocol/ui"
	skillsExtension = "io.modelcontextprotocol/skills"
)

// legacyMetaKeys are the keys under a reserved prefix that servers may use in the revisions of the handshake.
var legacyMetaKeys = []string{
	"io.modelcontextprotocol/related-task",
	"io.modelcontextprotocol/model-immediate-response",
}

// modernMetaKeys are those of the revisions without one.
var modernMetaKeys = []string{
	driver.MetaRevision, driver.MetaClient, driver.MetaCapabilities, driver.MetaLogLevel,
	driver.MetaSubscription, driver.MetaServer,
}

// isTopLevelDomain reports whether a label is a top-level domain that a server's owner is likely to have.
func isTopLevelDomain(label string) bool {
	return slices.Contains(frequentTLDs, label) || slices.Contains(otherTLDs, label)
}
