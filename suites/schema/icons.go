package schema

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// iconChecks are the checks of icons.
var iconChecks = check.Suite{
	"schema/icon-shape": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/icon-shape", "a list of well-formed icons", "icon",
			validateMessages(t, w).Filter(hasPart("icons")))
	}),

	"schema/icon-src-scheme": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "icon", iconsWith(t, w, "src"), part.Subject, func(t *check.T, icon part) {
			src, ok := icon.value.(check.M)["src"].(string)
			if !ok {
				t.Yield("src is not a string")
			}
			t.Expect(src).To(check.Satisfy("an https or data URI", func(src string) bool {
				return slices.Contains([]string{"https", "data", "http"}, schemeOf(src))
			}))
			t.ExpectAdvice(schemeOf(src) != "http").To(check.BeTrue("an https or data URI", "%s", check.Show(src)))
		})
	}),

	"schema/icon-same-origin": check.Watch(func(t *check.T, w check.Wire) {
		own := serverDomain(t)
		check.Judge(t, "icon", iconsWith(t, w, "src"), part.Subject, func(t *check.T, icon part) {
			src, _ := icon.value.(check.M)["src"].(string)
			u, err := url.Parse(src)
			switch {
			case err != nil || u.Hostname() == "" || !strings.HasPrefix(schemeOf(src), "http"):
				t.Skip(check.NotOffered, "no icon is at an http or https URL")
			case own == "":
				t.Skip(check.NotApplicable,
					"the server is tried at an address that is not its public one, and names no websiteUrl")
			}
			t.Expect(domainOf(u.Hostname())).To(check.BeOneOf(own), "of the icon at %s", u.Redacted())
		})
	}),

	"schema/icon-data-uri-base64": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "icon", iconsWith(t, w, "src"), part.Subject, func(t *check.T, icon part) {
			src, _ := icon.value.(check.M)["src"].(string)
			if schemeOf(src) != "data" {
				t.Skip(check.NotOffered, "no icon is a data URI")
			}
			mimeType, image, problem := readDataURI(src)
			if override, ok := icon.value.(check.M)["mimeType"].(string); ok && isGeneric(mimeType) {
				mimeType = override
			}
			t.Expect(problem == "").To(check.BeTrue("a data URI with base64 image data", "%s", problem))
			t.ExpectShould(isImage(mimeType, image)).To(check.BeTrue("image data of type "+mimeType,
				"data that begins with %.8q", image))
		})
	}),

	"schema/icon-sizes-format": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "icon with sizes", iconsWith(t, w, "sizes"), part.Subject, func(t *check.T, icon part) {
			sizes, ok := icon.value.(check.M)["sizes"].([]any)
			if !ok {
				t.Yield("sizes is not an array")
			}
			for _, size := range sizes {
				if _, ok := size.(string); ok { // otherwise schema/icon-shape reports it
					t.Expect(size).To(check.Satisfy("a size of the form WxH, or any", iconSizePattern.MatchString))
				}
			}
		})
	}),
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// iconsWith returns the icons that have the member.
func iconsWith(t *check.T, w check.Wire, member string) (icons []part) {
	for _, p := range validateMessages(t, w).Parts("icons") {
		list, _ := p.value.([]any)
		for _, icon := range check.Objects(list) {
			if check.HasMember(icon, member) {
				icons = append(icons, part{p.kind, "icon", p.name, icon, p.message})
			}
		}
	}
	return icons
}

// serverDomain returns the domain of the server: that of its URL or, if that is a local address, that of its
// websiteUrl; empty if neither has one.
func serverDomain(t *check.T) string {
	if host := roundtrip.ServerURL(t).Hostname(); isPublicName(host) {
		return domainOf(host)
	}
	website, _ := t.Server.Identity()["websiteUrl"].(string)
	if u, err := url.Parse(website); err == nil && isPublicName(u.Hostname()) {
		return domainOf(u.Hostname())
	}
	return ""
}

// isPublicName reports whether a host has the form of a public domain name.
func isPublicName(host string) bool {
	_, err := netip.ParseAddr(host)
	suffix, registry := publicsuffix.PublicSuffix(strings.ToLower(host))
	return err != nil && (registry || strings.Contains(suffix, ".")) && !strings.EqualFold(suffix, host)
}

// domainOf returns the registered domain of a host: "example.com" for "a.b.example.com".
func domainOf(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// schemeOf returns the scheme of a URI in lower case; empty if it has none.
func schemeOf(uri string) string {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || !uriSchemePattern.MatchString(scheme) {
		return ""
	}
	return strings.ToLower(scheme)
}

// readDataURI returns the media type and the data of a data URI in base64, or what is wrong with it. Like browsers, it
// accepts escapes, white space and missing padding.
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

// isGeneric reports whether a media type says nothing about an image, so that the mimeType of the icon decides.
func isGeneric(mimeType string) bool {
	return slices.Contains([]string{"", "text/plain", "application/octet-stream"}, mimeType)
}

// isImage reports whether data looks like an image of the type. Unknown types are accepted.
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
		// SVG may be compressed.
		return bytes.Contains(data, []byte("<svg")) || bytes.HasPrefix(data, []byte("\x1f\x8b"))
	}
	return true
}
