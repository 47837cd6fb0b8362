package resources

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// definitionChecks are the checks of what is said of each resource and template.
var definitionChecks = Suite{
	"resources/uri-valid": Probe(func(t *T) {
		eachResource(t, func(t *T, resource M) {
			uri, isString := resource["uri"].(string)
			if !isString {
				t.Yield("the URI is not a string")
			}
			t.Expect(uri).To(Satisfy("an absolute URI by RFC 3986", func(uri string) bool {
				return absoluteURIPattern.MatchString(nonASCIIPattern.ReplaceAllString(uri, "x"))
			}))
			t.ExpectShould(uri).To(Satisfy("a URI of ASCII characters, the others percent-encoded",
				absoluteURIPattern.MatchString))
		})
	}),

	"resources/size-type": Probe(func(t *T) {
		eachResource(t, func(t *T, resource M) {
			if !HasMember(resource, "size") {
				t.WithReason(NotOffered).Skip("no resource has a size")
			}
			size, isNumber := resource["size"].(json.Number)
			t.Expect(isNumber).To(BeTrue("a number as the size", "%s", Show(resource["size"])))
			n, _ := size.Float64()
			t.ExpectShould(driver.IsInteger(size) && n >= 0).To(BeTrue("a whole number from 0 on as the size", "%s",
				Show(size)))
		})
	}),

	"resources/title-type": Probe(func(t *T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		eachItem(t, "the server lists no resource", all, func(t *T, item M) {
			if !HasMember(item, "title") {
				t.WithReason(NotOffered).Skip("nothing that is listed has a title")
			}
			t.Expect(item["title"]).To(BeString())
		})
	}),

	"resources/mime-type-format": Probe(func(t *T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		for _, r := range readResults(t) {
			all = append(all, subjects(protocol.ObjectsIn(r.reply.Result()["contents"]), "uri")...)
		}
		eachItem(t, "the server lists no resource", all, func(t *T, item M) {
			mimeType, isString := item["mimeType"].(string)
			if !isString {
				t.WithReason(NotObserved).Skip("no mimeType was seen")
			}
			t.Expect(mimeType).To(Satisfy("a media type, type/subtype", mediaTypePattern.MatchString))
		})
	}),
}

var (
	absoluteURIPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:` +
		`(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	nonASCIIPattern  = regexp.MustCompile(`[^\x00-\x7F]`)
	mediaTypePattern = regexp.MustCompile(`^` + tokenPattern + `/` + tokenPattern + `\s*(?:;.*)?$`)
)

// tokenPattern is a word of a media type by RFC 9110.
const tokenPattern = "[!#$%&'*+.^_`|~A-Za-z0-9-]+"

// isFileURI reports whether a URI is one of a file.
func isFileURI(uri string) bool { return strings.HasPrefix(strings.ToLower(uri), "file:") }
