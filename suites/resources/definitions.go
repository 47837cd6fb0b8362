package resources

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// definitions are the checks of what is said of each resource and template.
var definitions = Suite{
	"resources/uri-valid": Probe(func(t *T) {
		eachResource(t, func(t *T, resource M) {
			uri, isString := resource["uri"].(string)
			if !isString {
				t.Yield("the URI is not a string")
			}
			t.Expect(uri).To(That("an absolute URI by RFC 3986", func(uri string) bool {
				return absoluteURI.MatchString(nonASCII.ReplaceAllString(uri, "x"))
			}))
			t.Warn(uri).To(That("a URI of ASCII characters, the others percent-encoded", absoluteURI.MatchString))
		})
	}),

	"resources/size-type": Probe(func(t *T) {
		eachResource(t, func(t *T, resource M) {
			if !Has(resource, "size") {
				t.Because(NotOffered).Skip("no resource has a size")
			}
			size, isNumber := resource["size"].(json.Number)
			t.Expect(isNumber).To(Hold("a number as the size", "%s", Show(resource["size"])))
			n, _ := size.Float64()
			t.Warn(driver.IsInteger(size) && n >= 0).To(Hold("a whole number from 0 on as the size", "%s", Show(size)))
		})
	}),

	"resources/title-type": Probe(func(t *T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		eachItem(t, "the server lists no resource", all, func(t *T, item M) {
			if !Has(item, "title") {
				t.Because(NotOffered).Skip("nothing that is listed has a title")
			}
			t.Expect(item["title"]).To(BeString())
		})
	}),

	"resources/mime-type-format": Probe(func(t *T) {
		all := slices.Concat(subjects(t.Server.Resources, "uri"), subjects(t.Server.Templates, "uriTemplate"))
		for _, r := range readings(t) {
			all = append(all, subjects(kit.ObjectsIn(r.reply.Result()["contents"]), "uri")...)
		}
		eachItem(t, "the server lists no resource", all, func(t *T, item M) {
			mimeType, isString := item["mimeType"].(string)
			if !isString {
				t.Because(NotObserved).Skip("no mimeType was seen")
			}
			t.Expect(mimeType).To(That("a media type, type/subtype", mediaType.MatchString))
		})
	}),
}

var (
	absoluteURI = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:` +
		`(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	nonASCII  = regexp.MustCompile(`[^\x00-\x7F]`)
	mediaType = regexp.MustCompile(`^` + token + `/` + token + `\s*(?:;.*)?$`)
)

// token is a word of a media type by RFC 9110.
const token = "[!#$%&'*+.^_`|~A-Za-z0-9-]+"

// isFile reports whether a URI is one of a file.
func isFile(uri string) bool { return strings.HasPrefix(strings.ToLower(uri), "file:") }
