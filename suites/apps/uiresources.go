package apps

import (
	"encoding/base64"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// uiResourceChecks are the checks of pages as resources.
var uiResourceChecks = check.Suite{
	"apps/resource-exists": check.Probe(func(t *check.T) {

		check.Each(t, readUIResources(t), uiResource.Subject, func(t *check.T, p uiResource) {
			if code, ok := p.Reply.Code(); ok && code == errcode.InternalError {
				t.NoVerdict(check.Undecided, "it cannot be read now: %s", check.Got(p.Reply))
			}
			t.Expect(p.Reply).To(check.BeResult())
			t.Expect(check.Member(p.Reply.Result(), "contents")).To(check.Satisfy("contents",
				func(contents []any) bool {
					return len(contents) > 0
				}))
		})
	}),

	"apps/resource-uri-match": check.Probe(func(t *check.T) {
		eachContents(t, func(t *check.T, p uiResource, contents []check.M) {
			named := func(c check.M) bool { return c["uri"] == p.URI }
			t.Expect(slices.ContainsFunc(contents, named)).To(check.BeTrue("contents with the uri "+p.URI,
				"%s", check.Show(check.Member(contents[0], "uri"))))
		})
	}),

	"apps/resource-mime": check.Probe(func(t *check.T) {
		eachContent(t, func(t *check.T, content check.M) {
			t.Expect(check.Member(content, "mimeType")).To(check.Satisfy("the type "+appMediaType, isAppMediaType))
		})
	}),

	"apps/resource-payload": check.Probe(func(t *check.T) {
		eachContent(t, func(t *check.T, content check.M) {
			text, isText := content["text"].(string)
			blob, isBlob := content["blob"].(string)
			t.Expect(isText || isBlob).To(check.BeTrue("a page as a string text or blob", "%s", check.Show(content)))
			if !isText {
				data, err := base64.StdEncoding.DecodeString(blob)
				t.Expect(err == nil).To(check.BeTrue("a blob in base64", "%v: %s", err, check.Show(blob)))
				text = string(data)
			}
			t.ExpectShould(text).To(check.Satisfy("an HTML document", htmlPattern.MatchString))
		})
	}),

	"apps/meta-shape": check.Probe(func(t *check.T) {
		var seen []check.Subject
		for _, object := range slices.Concat(uiTools(t), listedUIResources(t), uiResourceContents(t)) {
			if check.HasMember(protocol.MetaOf(object.Value), "ui") {
				seen = append(seen, object)
			}
		}
		if len(seen) == 0 {
			t.Skip(check.NotObserved, "nothing has _meta.ui")
		}
		t.Each(seen, func(t *check.T, object check.Subject) {
			t.Expect(protocol.MetaOf(object.Value)["ui"]).To(check.BeObject())
			expectSettings(t, uiOf(object.Value))
		})
	}),
}

// htmlPattern matches the beginning of an HTML document, or a part that only such a document has.
var htmlPattern = regexp.MustCompile(`(?i)^\x{feff}?\s*<!doctype html|<html[\s>]`)

// uiResource is a resource that a tool names as its page, with the reply to resources/read.
type uiResource struct {
	URI   string
	Reply driver.Reply
}

// Subject names the page in results.
func (p uiResource) Subject() check.Subject {
	return check.Subject{Name: p.URI, Frames: []*driver.Frame{p.Reply.Request, p.Reply.Frame}}
}

// maxUIResources is the number of pages that are read at most.
const maxUIResources = 20

// readUIResources reads the pages of tools as a client that shows them. They are read once for all checks.
func readUIResources(t *check.T) []uiResource {
	if !t.Server.Declares("resources") {
		t.Skip(check.NotDeclared, "the server does not declare resources")
	}
	var uris []string
	for _, tool := range uiTools(t) {
		uri, _ := uiOf(tool.Value)["resourceUri"].(string)
		// Otherwise apps/resource-uri-scheme reports it.
		if strings.HasPrefix(uri, uiScheme) && !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	if len(uris) == 0 {
		t.Yield("no page has a URI with ui://")
	}
	if n := len(uris) - maxUIResources; n > 0 {
		uris = uris[:maxUIResources]
		t.Caveat("%d pages were not read: mcpcheck reads %d", n, maxUIResources)
	}
	return check.Step(t, "pages of tools", func(t *check.T) (pages []uiResource) {
		for _, uri := range uris {
			r := toolcall.RunInputLoop(t, t.Session(), "resources/read",
				protocol.WithCapabilities(check.M{"uri": uri}, uiCapabilities)).LastReply
			if !r.Answered() {
				t.Retry(check.Undecided, "%v", check.Explain(r.Err))
			}
			pages = append(pages, uiResource{uri, r})
		}
		return pages
	})
}

// eachContents runs a check on the contents of each page that could be read.
func eachContents(t *check.T, run func(t *check.T, p uiResource, contents []check.M)) {
	check.Each(t, readUIResources(t), uiResource.Subject, func(t *check.T, p uiResource) {
		contents := protocol.ObjectsIn(p.Reply.Result()["contents"])
		if len(contents) == 0 {
			t.Yield("the page has no contents")
		}
		run(t, p, contents)
	})
}

// eachContent runs a check on each content of a page: on those under its own URI or, if there are none, on all.
func eachContent(t *check.T, run func(t *check.T, content check.M)) {
	eachContents(t, func(t *check.T, p uiResource, contents []check.M) {
		own := slices.DeleteFunc(slices.Clone(contents), func(c check.M) bool { return c["uri"] != p.URI })
		if len(own) == 0 {
			own = contents
		}
		for _, content := range own {
			run(t, content)
		}
	})
}

// uiResourceContents returns the contents of the pages that could be read.
func uiResourceContents(t *check.T) (all []check.Subject) {
	if !t.Server.Declares("resources") {
		return nil
	}
	for _, p := range readUIResources(t) {
		for _, content := range protocol.ObjectsIn(p.Reply.Result()["contents"]) {
			s := p.Subject()
			s.Value = content
			all = append(all, s)
		}
	}
	return all
}

// listedUIResources returns the resources that are listed with the media type of pages.
func listedUIResources(t *check.T) (all []check.Subject) {
	for _, resource := range t.Server.Resources {
		if uri, _ := resource["uri"].(string); strings.HasPrefix(uri, uiScheme) {
			all = append(all, check.Subject{Name: uri, Value: resource})
		}
	}
	return all
}

// isAppMediaType reports whether a media type is that of pages; space and further parameters do not matter.
func isAppMediaType(text string) bool {
	mediaType, parameters, err := mime.ParseMediaType(text)
	return err == nil && mediaType == "text/html" && strings.EqualFold(parameters["profile"], "mcp-app")
}

// expectSettings requires the settings of a page to have the specified types.
func expectSettings(t *check.T, ui check.M) {
	csp := check.Member(ui, "csp")
	if check.HasMember(ui, "csp") {
		t.Expect(csp).To(check.BeObject(), "csp")
	}
	for _, name := range []string{"connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"} {
		if csp, _ := csp.(check.M); check.HasMember(csp, name) {
			t.Expect(csp[name]).To(check.Satisfy("a list of strings", isStringList), "csp.%s", name)
		}
	}
	if check.HasMember(ui, "permissions") {
		t.Expect(ui["permissions"]).To(check.BeObject(), "permissions")
	}
	if check.HasMember(ui, "domain") {
		t.Expect(ui["domain"]).To(check.BeString(), "domain")
	}
	if check.HasMember(ui, "prefersBorder") {
		t.Expect(ui["prefersBorder"]).To(check.BeBoolean(), "prefersBorder")
	}
	permissions, _ := ui["permissions"].(check.M)
	for _, name := range slices.Sorted(maps.Keys(permissions)) {
		t.ExpectShould(permissions[name]).To(check.BeObject(), "permissions.%s", name)
	}
}

func isStringList(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { _, is := item.(string); return !is })
}
