package suites

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// What these watches judge, examine.go finds in the messages; which of them
// reports a violation of the schema, owners.go decides.
var schema = Suite{
	"schema/all-server-messages-valid": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/all-server-messages-valid", "a message that its schema allows", all.Of("message", anyMessage))
	}),

	"schema/optional-members-not-null": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/optional-members-not-null", "optional members set or left out", all.Of("message", anyMessage))
	}),

	"schema/unknown-server-methods": Watch(func(t *T, w Wire) {
		sent := w.Messages().Established(t.Revision)
		t.Judge(sent.Filter("request and no notification", func(m Message) bool { return m.Method != "" }), expectKnownMethod)
	}),

	"schema/capability-shapes": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/capability-shapes", "capabilities that are objects with boolean flags", all.Of("capabilities", having("capabilities")))
	}),

	"schema/instructions-type": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		welcomes := all.Of("result of initialize", func(x exam) bool { return x.definition == "InitializeResult" })
		expectNone(t, all, "schema/instructions-type", "instructions that are a string, or none", welcomes)
	}),

	"schema/implementation-website-url": Watch(func(t *T, w Wire) {
		eachPart(t, "websiteUrl", examine(t, w).Parts("websiteUrl"), func(t *T, p part) {
			text, ok := p.value.(string)
			if !ok {
				t.Skip("websiteUrl is no string: schema/all-server-messages-valid")
			}
			t.Expect(text).To(That("an absolute http or https URL", isWebsite))
		})
	}),

	"schema/unknown-client-capabilities-tolerated": Fresh(func(t *T) {
		t.Expect(begin(t, opening{unknown: true}).welcome).To(BeResult())
	}),

	"schema/request-meta-tolerated": Probe(func(t *T) {
		s := t.Session()
		served := false
		for _, method := range plainMethods(t) {
			if t.Ask(s, method, M{}).Result() == nil {
				continue // what is wrong with it, its own area says
			}
			served = true
			r := t.Ask(s, method, M{"_meta": M{"com.example/mcpcheck": M{"a": 1}, "progressToken": "t"}})
			t.Expect(r).To(BeResult())
		}
		if !served {
			t.Inconclusive("no request is served without _meta either")
		}
	}),

	"schema/meta-is-object": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/meta-is-object", "_meta that is an object", all.Of("_meta", having("_meta")))
	}),

	"schema/meta-key-format": Watch(func(t *T, w Wire) {
		eachMetaKey(t, w, "_meta key", anyKey, func(t *T, key, where string) {
			t.Expect(metaKey.MatchString(key)).To(Hold("a _meta key of the form prefix/name", "%q in %s", key, where))
		})
	}),

	"schema/meta-reserved-prefix": Watch(func(t *T, w Wire) {
		eachMetaKey(t, w, "_meta key with a prefix", hasPrefix, func(t *T, key, where string) {
			free := !isReserved(metaLabels(key), t.Revision) || slices.Contains(definedMetaKeys, key)
			t.Expect(free || slices.Contains(publishedMetaKeys, key)).To(Hold("a _meta key under a prefix that is not reserved", "%q in %s", key, where))
			t.Inform(free).To(Hold("a _meta key that this revision defines", "%q in %s", key, where))
		})
	}),

	"schema/meta-reverse-dns-prefix": Watch(func(t *T, w Wire) {
		eachMetaKey(t, w, "_meta key with a prefix", hasPrefix, func(t *T, key, where string) {
			labels := metaLabels(key)
			reversed := isTopLevel(labels[0])
			t.Expect(reversed || !slices.Contains(frequentDomains, labels[len(labels)-1])).To(Hold("a _meta prefix in reverse DNS order, such as com.example/", "%q in %s", key, where))
			t.Inform(reversed).To(Hold("a _meta prefix that begins with a top-level domain", "%q in %s", key, where))
		})
	}),

	"schema/icon-shape": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/icon-shape", "a list of well-formed icons", all.Of("icon", having("icons")))
	}),

	"schema/icon-src-scheme": Watch(func(t *T, w Wire) {
		eachPart(t, "icon", iconsWith(t, w, "src"), func(t *T, icon part) {
			src, ok := icon.value.(M)["src"].(string)
			if !ok {
				t.Skip("src is no string: schema/icon-shape")
			}
			t.Expect(src).To(That("an https or data URI", func(src string) bool {
				return slices.Contains([]string{"https", "data"}, schemeOf(src))
			}))
		})
	}),

	"schema/icon-same-origin": Watch(func(t *T, w Wire) {
		own := ownDomain(t)
		eachPart(t, "icon", iconsWith(t, w, "src"), func(t *T, icon part) {
			src, _ := icon.value.(M)["src"].(string)
			u, err := url.Parse(src)
			switch {
			case err != nil || u.Hostname() == "" || !strings.HasPrefix(schemeOf(src), "http"):
				t.Skip("no icon is at an http or https URL")
			case own == "":
				t.Skip("the server is tried at an address that is not its public one, and names no websiteUrl")
			}
			t.Expect(domainOf(u.Hostname())).To(BeOneOf(own), "of the icon at %s", u.Redacted())
		})
	}),

	"schema/icon-data-uri-base64": Watch(func(t *T, w Wire) {
		eachPart(t, "icon", iconsWith(t, w, "src"), func(t *T, icon part) {
			src, _ := icon.value.(M)["src"].(string)
			if schemeOf(src) != "data" {
				t.Skip("no icon is a data URI")
			}
			mimeType, image, problem := readDataURI(src)
			if override, ok := icon.value.(M)["mimeType"].(string); ok && isGeneric(mimeType) {
				mimeType = override
			}
			t.Expect(problem == "").To(Hold("a data URI with base64 image data", "%s", problem))
			t.Warn(isImage(mimeType, image)).To(Hold("image data of type "+mimeType, "data that begins with %.8q", image))
		})
	}),

	"schema/icon-sizes-format": Watch(func(t *T, w Wire) {
		eachPart(t, "icon with sizes", iconsWith(t, w, "sizes"), func(t *T, icon part) {
			sizes, ok := icon.value.(M)["sizes"].([]any)
			if !ok {
				t.Skip("sizes is no array: schema/icon-shape")
			}
			for _, size := range sizes {
				if _, ok := size.(string); ok { // else schema/icon-shape
					t.Expect(size).To(That("a size of the form WxH, or any", iconSize.MatchString))
				}
			}
		})
	}),

	"schema/annotations-audience": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/annotations-audience", "an audience that lists user and assistant", all.Of("annotation of an audience", annotating("audience")))
	}),

	"schema/annotations-priority": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/annotations-priority", "a priority from 0 to 1", all.Of("annotation of a priority", annotating("priority")))
	}),

	"schema/annotations-last-modified": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, all, "schema/annotations-last-modified", "lastModified that is a string", all.Of("annotation of lastModified", annotating("lastModified")))
		eachPart(t, "annotations", all.Parts("annotations"), func(t *T, p part) {
			annotations, _ := contentAnnotations(p)
			if !Has(annotations, "lastModified") {
				t.Skip("annotations have no lastModified")
			}
			t.Warn(annotations["lastModified"]).To(That("an ISO 8601 timestamp", timestamp.MatchString))
		})
	}),

	"schema/annotations-not-tool-annotations": Watch(func(t *T, w Wire) {
		eachPart(t, "annotations", examine(t, w).Parts("annotations"), func(t *T, p part) {
			wanted, foreign := "Annotations", []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
			if p.kind == "Tool" {
				wanted, foreign = "ToolAnnotations", []string{"audience", "priority"}
			}
			annotations, _ := p.value.(M)
			for _, member := range foreign {
				t.Expect(!Has(annotations, member)).To(Hold("annotations of the type "+wanted, "%s", member))
			}
		})
	}),
}

// expectNone wants messages without violations that the entry owns.
func expectNone(t *T, all *examined, id, want string, messages Messages) {
	t.Judge(messages, func(t *T, m Message) {
		broken := all.BrokenIn(m, id)
		t.Expect(len(broken) == 0).To(Hold(want, "%s", tell(broken)))
	})
}

// tell says what is broken, once for all items of a list.
func tell(broken []schemas.Violation) string {
	first := map[string]schemas.Violation{}
	times := map[string]int{}
	var order []string
	for _, v := range broken {
		key := v.Definition + anyItem(v.Path) + v.Rule
		if times[key]++; times[key] == 1 {
			first[key] = v
			order = append(order, key)
		}
	}
	var lines []string
	for _, key := range order {
		line := first[key].String()
		if n := times[key] - 1; n > 0 {
			line += fmt.Sprintf(" (and in %d more items)", n)
		}
		lines = append(lines, line)
	}
	const most = 5
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more violations", n))
	}
	return strings.Join(lines, "; ")
}

// anyItem is a path in which it does not matter which items of lists are meant.
func anyItem(path string) string {
	steps := strings.Split(path, "/")
	for i, step := range steps {
		if _, err := strconv.Atoi(step); err == nil {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, "/")
}

func anyMessage(exam) bool { return true }

// having passes messages with such a member.
func having(member string) func(exam) bool {
	return func(x exam) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool { return p.member == member })
	}
}

// annotating passes messages with annotations of content that have the member.
func annotating(member string) func(exam) bool {
	return func(x exam) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool {
			annotations, ok := contentAnnotations(p)
			return ok && Has(annotations, member)
		})
	}
}

// contentAnnotations are the annotations of a resource, a template or content;
// those of tools are another type.
func contentAnnotations(p part) (annotations M, ok bool) {
	if p.member != "annotations" || p.kind == "Tool" {
		return nil, false
	}
	annotations, ok = p.value.(M)
	return annotations, ok
}

// eachPart tries a check on every part; what names them in reasons.
func eachPart(t *T, what string, parts []part, run func(*T, part)) {
	if len(parts) == 0 {
		t.Skip("the server sent no %s", what)
	}
	subjects := make([]Subject, len(parts))
	for i, p := range parts {
		subjects[i] = Subject{Name: p.name, Value: M{p.member: p.value}}
	}
	next := 0 // subjects come in order
	t.Each(subjects, func(t *T, _ Subject) {
		p := parts[next]
		next++
		run(t, p)
	})
}

// expectKnownMethod wants a method that the revision defines for servers.
func expectKnownMethod(t *T, m Message) {
	_, request := schemas.RequestDefinition(t.Revision, m.Method)
	_, notification := schemas.NotificationDefinition(t.Revision, m.Method)
	if request || notification {
		return
	}
	if _, later := schemas.MethodSince(m.Method); later {
		t.Skip("%s is of a later revision: lifecycle/operation-matches-negotiated-version", m.Method)
	}
	if isExtended(t.Server.Capabilities) {
		t.Skip("the server declares an extension, which may define %s", m.Method)
	}
	if m.IsNotification() {
		t.Inform(false).To(Hold("a notification that servers send in "+t.Revision, "%s", m.Method))
	}
	t.Expect(false).To(Hold("a request that servers send in "+t.Revision, "%s", m.Method))
}

// isExtended reports whether the capabilities name something that no revision of
// the handshake defines.
func isExtended(capabilities M) bool {
	defined := []string{"logging", "completions", "prompts", "resources", "tools", "tasks"}
	for name, v := range capabilities {
		experimental, _ := v.(M)
		if name == "experimental" && len(experimental) > 0 || name != "experimental" && !slices.Contains(defined, name) {
			return true
		}
	}
	return false
}

// plainMethods are requests that the server serves without any params.
func plainMethods(t *T) []string {
	methods := []string{"ping"}
	for _, family := range []string{"tools", "resources", "prompts"} {
		if t.Server.Declares(family) {
			methods = append(methods, family+"/list")
		}
	}
	return methods
}

func isWebsite(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// eachMetaKey tries a check on every key of a _meta that passes the test, once for
// each key; where says what has it.
func eachMetaKey(t *T, w Wire, what string, test func(string) bool, run func(t *T, key, where string)) {
	var subjects []Subject
	where := map[string]string{}
	for _, p := range examine(t, w).Parts("_meta") {
		meta, _ := p.value.(M)
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			if _, again := where[key]; !again && test(key) {
				where[key] = p.name
				subjects = append(subjects, Subject{Name: key, Value: M{"_meta": meta}})
			}
		}
	}
	if len(subjects) == 0 {
		t.Skip("the server sent no %s", what)
	}
	t.Each(subjects, func(t *T, key Subject) { run(t, key.Name, where[key.Name]) })
}

func anyKey(string) bool { return true }

// hasPrefix passes well-formed keys with a prefix.
func hasPrefix(key string) bool { return metaKey.MatchString(key) && strings.Contains(key, "/") }

// metaKey is the grammar of keys: an optional prefix of dotted labels with a slash,
// and a name that may be empty.
var metaKey = regexp.MustCompile(`^(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)

// metaLabels are the labels of the prefix of a key.
func metaLabels(key string) []string {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.Split(strings.ToLower(prefix), ".")
}

// isReserved reports whether a prefix of these labels is kept for MCP. Until
// 2025-06-18 that was so where any label but the last is a name of MCP, since then
// where the second one is.
func isReserved(labels []string, revision string) bool {
	ofMCP := func(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }
	if revision < "2025-11-25" {
		return slices.ContainsFunc(labels[:len(labels)-1], ofMCP)
	}
	return len(labels) > 1 && ofMCP(labels[1])
}

// definedMetaKeys are the keys under a reserved prefix that servers may use in the
// revisions of the handshake.
var definedMetaKeys = []string{
	"io.modelcontextprotocol/related-task",
	"io.modelcontextprotocol/model-immediate-response",
}

// publishedMetaKeys are those of later revisions and of published extensions, by
// the names of the extensions.
var publishedMetaKeys = []string{
	"io.modelcontextprotocol/protocolVersion",
	"io.modelcontextprotocol/clientInfo",
	"io.modelcontextprotocol/clientCapabilities",
	"io.modelcontextprotocol/logLevel",
	"io.modelcontextprotocol/subscriptionId",
	"io.modelcontextprotocol/serverInfo",
	"io.modelcontextprotocol/tasks",
	"io.modelcontextprotocol/ui",
}

// isTopLevel reports whether a label is a top-level domain that a server's owner is
// likely to have.
func isTopLevel(label string) bool {
	return slices.Contains(frequentDomains, label) || slices.Contains(otherDomains, label)
}

var (
	frequentDomains = strings.Fields("com org net edu gov io dev ai app co uk de fr eu us jp cn")
	otherDomains    = strings.Fields("mil int info biz name pro cloud tech xyz online site " +
		"ac ae ag ar at au be bg br by ca cc ch ci cl cr cz dk ec ee eg es fi fm gg gr hk hr hu id ie il im in ir is it ke kr kz " +
		"la li lt lu lv ly ma me mx my ng nl no nz pe ph pk pl pt ro rs ru sa se sg sh si sk so st su th tk tn to tr tv tw ua uy uz ve vn za")
)

// iconsWith are the icons, one by one, that have the member.
func iconsWith(t *T, w Wire, member string) (icons []part) {
	for _, p := range examine(t, w).Parts("icons") {
		list, _ := p.value.([]any)
		for _, icon := range Objects(list) {
			if Has(icon, member) {
				icons = append(icons, part{p.kind, "icon", p.name, icon})
			}
		}
	}
	return icons
}

// ownDomain is the domain of the server: that of its URL or, where that is an address
// for tests, the one of its websiteUrl; empty when neither tells.
func ownDomain(t *T) string {
	if host := siteURL(t).Hostname(); isPublicName(host) {
		return domainOf(host)
	}
	info, _ := t.Server.Welcome["serverInfo"].(M)
	website, _ := info["websiteUrl"].(string)
	if u, err := url.Parse(website); err == nil && isPublicName(u.Hostname()) {
		return domainOf(u.Hostname())
	}
	return ""
}

// isPublicName reports whether a host is one of the public domain name system, by
// its form.
func isPublicName(host string) bool {
	_, err := netip.ParseAddr(host)
	suffix, registry := publicsuffix.PublicSuffix(strings.ToLower(host))
	return err != nil && (registry || strings.Contains(suffix, ".")) && !strings.EqualFold(suffix, host)
}

// domainOf is what a name was registered under: "example.com" of "a.b.example.com".
func domainOf(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// schemeOf is the scheme of a URI in lower case; empty for what has none.
func schemeOf(uri string) string {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || !uriScheme.MatchString(scheme) {
		return ""
	}
	return strings.ToLower(scheme)
}

// readDataURI returns the media type and the data of a data URI in base64, or what
// is wrong with it. It forgives what browsers do: escapes, white space and missing
// padding.
func readDataURI(uri string) (mimeType string, data []byte, problem string) {
	head, text, ok := strings.Cut(uri[len("data:"):], ",")
	parameters := strings.Split(strings.ToLower(head), ";")
	if !ok || strings.TrimSpace(parameters[len(parameters)-1]) != "base64" {
		return "", nil, "a data URI without ;base64,"
	}
	if unescaped, err := url.PathUnescape(text); err == nil {
		text = unescaped
	}
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return "", nil, err.Error()
	}
	return strings.TrimSpace(parameters[0]), data, ""
}

// isGeneric reports whether a media type says nothing about an image, so that
// mimeType of the icon does.
func isGeneric(mimeType string) bool {
	return slices.Contains([]string{"", "text/plain", "application/octet-stream"}, mimeType)
}

// isImage reports whether data looks like an image of the type; it does not judge
// types that it does not know.
func isImage(mimeType string, data []byte) bool {
	switch strings.ToLower(mimeType) {
	case "image/png":
		return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	case "image/jpeg", "image/jpg":
		return bytes.HasPrefix(data, []byte("\xff\xd8\xff"))
	case "image/gif":
		return bytes.HasPrefix(data, []byte("GIF8"))
	case "image/webp":
		return bytes.HasPrefix(data, []byte("RIFF")) && bytes.Contains(data[:min(len(data), 16)], []byte("WEBP"))
	case "image/svg+xml":
		return bytes.Contains(data, []byte("<svg")) || bytes.HasPrefix(data, []byte("\x1f\x8b")) // text, or compressed
	}
	return true
}

var (
	uriScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	iconSize  = regexp.MustCompile(`^([0-9]+x[0-9]+|any)$`)

	// timestamp is any date of ISO 8601, with or without a time of day.
	timestamp = regexp.MustCompile(`^\d{4}(?:` + monthly + `|` + weekly + `|` + ordinal + `)?(?:T` + clock + zone + `)?$`)
)

const (
	monthly = `-?(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?`
	weekly  = `-?W[0-5]\d(?:-?[1-7])?`
	ordinal = `-?[0-3]\d\d`
	clock   = `(?:[01]\d|2[0-4])(?::?[0-5]\d(?::?(?:[0-5]\d|60))?)?(?:[.,]\d+)?`
	zone    = `(?:Z|[+-]\d\d(?::?\d\d)?)?`
)
