package resources

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// traversalChecks holds the check of files outside of what a server serves.
var traversalChecks = check.Suite{
	"resources/path-traversal-refused": check.Probe(func(t *check.T) {
		ways := traversalURIs(t)
		if len(ways) == 0 {
			t.Skip(check.NotOffered, "the server has no file:// resource and no template")
		}
		s := t.Session()
		if matchesTemplate(t, outsideURI) && hasOutsideFile(invalid.TryInvalid(t, s, readMethod,
			check.M{"uri": outsideURI})) {
			t.Skip(check.NotApplicable, "the server serves the whole file system by a template")
		}
		t.Each(ways, func(t *check.T, way check.Subject) {
			r := invalid.RequestInvalid(t, s, readMethod, check.M{"uri": way.Name})
			t.Expect(!hasOutsideFile(r)).To(check.BeTrue("no content from outside the served directory",
				"what looks like the %s of the machine", outsidePath))
		})
	}),
}

// outsidePath and outsideURI denote a file that every Unix has and no server means to serve.
const (
	outsidePath = "etc/passwd"
	outsideURI  = "file:///" + outsidePath
)

// passwdPattern matches a line of that file.
var passwdPattern = regexp.MustCompile(`(?m)^root:[^:\n]*:0:0:`)

// traversalURIs returns URIs that lead to the outside file from listed ones: out of the directory of a file, or out of
// the place of a variable in a template. Dots are literal, and percent-encoded once and twice. URIs that the server
// lists are left out. The replies are not recorded, so that reports show no content of foreign files.
func traversalURIs(t *check.T) (all []check.Subject) {
	// The number of resources and of templates that are tried.
	const most = 2
	up := strings.Repeat("../", 12) + outsidePath
	forms := []string{up, strings.ReplaceAll(up, "../", "%2e%2e%2f"), strings.ReplaceAll(up, "../", "%252e%252e%252f")}
	var uris []string
	n := 0
	for _, resource := range t.Server.Resources {
		uri, _ := resource["uri"].(string)
		if !isFileURI(uri) || n == most {
			continue
		}
		n++
		for _, form := range forms {
			uris = append(uris, uri[:strings.LastIndex(uri, "/")+1]+form)
		}
	}
	if n > 0 {
		uris = append(uris, outsideURI)
	}
	parsed := toolcall.Templates(t)
	for _, x := range parsed[:min(len(parsed), most)] {
		name := x.Varnames()[0]
		if uri, err := x.Expand(uritemplate.Values{name: uritemplate.String(up)}); err == nil {
			uris = append(uris, uri)
		}
		for _, form := range forms {
			uris = append(uris, regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllLiteralString(x.Raw(), form))
		}
	}
	for _, uri := range uris {
		isListed := slices.ContainsFunc(t.Server.Resources, func(r check.M) bool { return r["uri"] == uri })
		if !isListed {
			all = append(all, check.Subject{Name: uri, Value: check.M{"uri": uri}, FromClient: true})
		}
	}
	return all
}

// hasOutsideFile reports whether a result has the content of the outside file.
func hasOutsideFile(r driver.Reply) bool {
	return slices.ContainsFunc(protocol.ObjectsIn(r.Result()["contents"]), func(content check.M) bool {
		text, _ := content["text"].(string)
		blob, _ := content["blob"].(string)
		raw, _ := base64.StdEncoding.DecodeString(blob)
		return passwdPattern.MatchString(text) || passwdPattern.Match(raw)
	})
}
