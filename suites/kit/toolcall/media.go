package toolcall

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ExpectMedia expects a content block with base64 data of a media type with this prefix.
func ExpectMedia(t *check.T, block check.M, prefix string) {
	t.Expect(check.Member(block, "data")).To(check.BeString())
	t.Expect(check.Member(block, "mimeType")).To(check.BeString())
	ExpectBase64(t, block["data"])
	t.ExpectShould(block["mimeType"]).To(check.Satisfy("a type "+prefix+"*", func(mime string) bool {
		return strings.HasPrefix(strings.ToLower(mime), prefix)
	}))
}

// ExpectBase64 expects base64. The URL-safe alphabet and missing padding are minor violations.
func ExpectBase64(t *check.T, data any) {
	standard := strings.NewReplacer("-", "+", "_", "/")
	t.Expect(data).To(check.Satisfy("base64", func(data string) bool {
		_, err := base64.RawStdEncoding.DecodeString(standard.Replace(strings.TrimRight(data, "=\r\n")))
		return err == nil
	}))
	t.ExpectShould(data).To(check.Satisfy("base64 with padding and no - or _", func(data string) bool {
		_, err := base64.StdEncoding.DecodeString(data)
		return err == nil
	}))
}

// ExpectEmbeddedResource expects an embedded resource with a URI and a text or blob.
func ExpectEmbeddedResource(t *check.T, block check.M) (resource check.M) {
	t.Expect(check.Member(block, "resource")).To(check.BeObject())
	resource = block["resource"].(check.M)
	t.Expect(check.Member(resource, "uri")).To(check.BeString())
	_, text := resource["text"].(string)
	_, blob := resource["blob"].(string)
	t.Expect(text || blob).To(check.BeTrue("a resource with a string text or blob", "%s", check.Show(resource)))
	if blob && !text {
		ExpectBase64(t, resource["blob"])
	}
	return resource
}

// IsAbsoluteURI reports whether a text begins with the scheme of a URI.
func IsAbsoluteURI(uri string) bool { return schemePattern.MatchString(uri) }

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// ContentTypes are the types of content in a revision.
func ContentTypes(revision string) []string {
	types := []string{"text", "image", "resource"}
	if revision >= "2025-03-26" {
		types = append(types, "audio")
	}
	if revision >= "2025-06-18" {
		types = append(types, "resource_link")
	}
	return types
}
