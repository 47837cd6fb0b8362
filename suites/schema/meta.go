package schema

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// metaChecks are the checks of the keys of _meta.
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
				t.Skip(check.NotApplicable, "%s is an old key of the extension of apps", key)
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

// eachMetaKey runs a check once for each selected key of a _meta; where names the objects that have it.
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

// metaEntries returns the members of every _meta whose key is selected.
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

// prefixLabels returns the labels of the prefix of a key.
func prefixLabels(key string) []string {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.Split(strings.ToLower(prefix), ".")
}

// isReserved reports whether a prefix with these labels is reserved for MCP. Until 2025-06-18, any label but the last
// may be a name of MCP; since then it has to be the second.
func isReserved(labels []string, revision string) bool {
	ofMCP := func(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }
	if revision < "2025-11-25" {
		return slices.ContainsFunc(labels[:len(labels)-1], ofMCP)
	}
	return len(labels) > 1 && ofMCP(labels[1])
}

// isDefined reports whether a key with a reserved prefix is defined by the revision, or by an extension that the server
// declares.
func isDefined(t *check.T, key string) bool {
	if !t.IsModern() {
		return slices.Contains(legacyMetaKeys, key)
	}
	declared, _ := t.Server.Capabilities["extensions"].(check.M)
	return slices.Contains(modernMetaKeys, key) || isOfExtension(key, slices.Collect(maps.Keys(declared)))
}

// isPublished reports whether a key with a reserved prefix is defined by a later revision or by a published extension.
func isPublished(t *check.T, key string) bool {
	if !t.IsModern() {
		return slices.Contains(modernMetaKeys, key) || slices.Contains([]string{tasksExtension, appsExtension}, key)
	}
	return isOfExtension(key, []string{tasksExtension, appsExtension, skillsExtension})
}

// isOfExtension reports whether a key belongs to one of some extensions. It is the identifier of the extension or has
// it as a prefix, such as "com.example.search/rank" for com.example/search.
func isOfExtension(key string, identifiers []string) bool {
	return slices.ContainsFunc(identifiers, func(id string) bool {
		return key == id || strings.HasPrefix(key, strings.Replace(id, "/", ".", 1)+"/")
	})
}

// These are the published extensions.
const (
	tasksExtension  = "io.modelcontextprotocol/tasks"
	appsExtension   = "io.modelcontextprotocol/ui"
	skillsExtension = "io.modelcontextprotocol/skills"
)

// legacyMetaKeys are the keys with a reserved prefix that servers may use in the legacy revisions.
var legacyMetaKeys = []string{
	"io.modelcontextprotocol/related-task",
	"io.modelcontextprotocol/model-immediate-response",
}

// modernMetaKeys are the keys with a reserved prefix that servers may use in the modern revisions.
var modernMetaKeys = []string{
	driver.MetaRevision, driver.MetaClient, driver.MetaCapabilities, driver.MetaLogLevel,
	driver.MetaSubscription, driver.MetaServer,
}

// isTopLevelDomain reports whether a label is a top-level domain. There are many, among them words such as link, google
// and rocks.
func isTopLevelDomain(label string) bool {
	suffix, registered := publicsuffix.PublicSuffix("mcpcheck." + label)
	return slices.Contains(frequentTLDs, label) || slices.Contains(otherTLDs, label) ||
		registered && strings.HasSuffix("."+suffix, "."+label)
}
