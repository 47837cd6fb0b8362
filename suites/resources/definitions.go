package resources

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// definitionChecks are the checks of the definitions of resources and templates.
var definitionChecks = check.Suite{
	"resources/uri-valid": check.Probe(func(t *check.T) {
		eachResource(t, func(t *check.T, resource check.M) {
			uri, isString := resource["uri"].(string)
			if !isString {
				t.Yield("the URI is not a string")
			}
			t.Expect(uri).To(check.Satisfy("an absolute URI by RFC 3986", func(uri string) bool {
				return absoluteURIPattern.MatchString(nonASCIIPattern.ReplaceAllString(uri, "x"))
			}))
			t.ExpectShould(uri).To(check.Satisfy("a URI of ASCII characters, the others percent-encoded",
				absoluteURIPattern.MatchString))
		})
	}),

	"resources/size-type": check.Probe(func(t *check.T) {
		eachResource(t, func(t *check.T, resource check.M) {
			if !check.HasMember(resource, "size") {
				t.Skip(check.NotOffered, "no resource has a size")
			}
			size, isNumber := resource["size"].(json.Number)
			t.Expect(isNumber).To(check.BeTrue("a number as the size", "%s", check.Show(resource["size"])))
			n, _ := size.Float64()
			t.ExpectShould(driver.IsInteger(size) && n >= 0).To(check.BeTrue("a whole number from 0 on as the size",
				"%s",
				check.Show(size)))
		})
	}),

	"resources/title-type": check.Probe(func(t *check.T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		eachItem(t, "the server lists no resource", all, func(t *check.T, item check.M) {
			if !check.HasMember(item, "title") {
				t.Skip(check.NotOffered, "nothing that is listed has a title")
			}
			t.Expect(item["title"]).To(check.BeString())
		})
	}),

	"resources/mime-type-format": check.Probe(func(t *check.T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		for _, r := range readResults(t) {
			all = append(all, subjects(protocol.ObjectsIn(r.reply.Result()["contents"]), "uri")...)
		}
		eachItem(t, "the server lists no resource", all, func(t *check.T, item check.M) {
			mimeType, isString := item["mimeType"].(string)
			if !isString {
				t.Skip(check.NotObserved, "no mimeType was seen")
			}
			t.Expect(mimeType).To(check.Satisfy("a media type, type/subtype", mediaTypePattern.MatchString))
		})
	}),
}

var (
	absoluteURIPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:` +
		`(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	nonASCIIPattern  = regexp.MustCompile(`[^\x00-\x7F]`)
	mediaTypePattern = regexp.MustCompile(`^` + tokenPattern + `/` + tokenPattern + `\s*(?:;.*)?$`)
)

// tokenPattern is the expression for a token of a media type (RFC 9110).
const tokenPattern = "[!#$%&'*+.^_`|~A-Za-z0-9-]+"

// isFileURI reports whether a URI has the scheme file.
func isFileURI(uri string) bool { return strings.HasPrefix(strings.ToLower(uri), "file:") }
