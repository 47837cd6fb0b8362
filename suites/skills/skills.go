// Package skills is the area of the extension skills: directories of instructions that a server serves as resources.
package skills

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = MergeSuites(declarationChecks, entryChecks, fileChecks, directoryChecks)

const (
	extension       = "io.modelcontextprotocol/skills"
	listMethod      = "skills/list"
	getMethod       = "skills/get"
	directoryMethod = "resources/directory/read"
	skillFile       = "/SKILL.md"
)

// declarationChecks are the checks of what a server declares, and of the methods that it serves then.
var declarationChecks = Suite{
	"skills/settings-shape": Probe(func(t *T) {
		extensions, _ := t.Server.Capabilities["extensions"].(M)
		t.DecidedBy(t.Server.ConnectReply).Expect(extensions[extension]).To(BeObject(), extension)
		t.DecidedBy(t.Server.ConnectReply).Expect(Member(extensions[extension].(M), "directoryRead")).To(
			BeOneOf[any](true, false, Absent{}), "directoryRead")
	}),

	"skills/needs-resources": Probe(func(t *T) {
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Declares("resources")).To(BeTrue("the capability resources",
			"none"))
	}),

	"skills/list-implemented": Probe(func(t *T) {
		r := t.TryRequest(t.Session(), listMethod, extensionParams(nil))
		t.Expect(r).To(BeResult())
		t.Expect(Member(r.Result(), "skills")).To(BeArray(), "skills")
	}),

	"skills/get-implemented": Probe(func(t *T) {
		c := requireList(t)
		if len(c.entries) == 0 {
			code, _ := requestByURI(t, getMethod, "skill://mcpcheck-no-such-skill"+skillFile).Code()
			t.Expect(code).NotTo(BeOneOf(-32601), "the code of the error for an unknown skill")
			return
		}
		eachSkill(t, func(t *T, s skill) {
			r := requestByURI(t, getMethod, s.requireURI(t))
			t.Expect(r).To(BeResult())
			t.Expect(Member(r.Result(), "skill")).To(BeObject(), "skill")
		})
	}),

	"skills/list-cache-hints": Probe(func(t *T) {
		pages := requireList(t).pages
		for _, page := range pages {
			expectCacheHints(t, page)
		}
	}),

	"skills/get-cache-hints": Probe(func(t *T) {
		eachGetResult(t, func(t *T, _ skill, result M) { expectCacheHints(t, result) })
	}),

	"skills/cache-hints-valid": Probe(func(t *T) {
		results := requireList(t).pages
		for _, g := range getResults(t) {
			results = append(results, g.result)
		}
		for _, result := range results {
			if ttl, has := result["ttlMs"]; has {
				t.Expect(ttl).To(BeInteger(), "ttlMs")
				milliseconds, _ := ttl.(json.Number).Float64() // of too large a number: infinity
				t.Expect(milliseconds >= 0).To(BeTrue("a number from 0 on", "%s", Show(ttl)))
			}
			t.Expect(Member(result, "cacheScope")).To(BeOneOf[any]("public", "private", Absent{}), "cacheScope")
		}
	}),

	"skills/result-complete": Probe(func(t *T) {
		results := requireList(t).pages
		for _, g := range getResults(t) {
			results = append(results, g.result)
		}
		for _, l := range directoryListings(t, true) {
			results = append(results, l.pages...)
		}
		for _, result := range results {
			if _, isString := result["resultType"].(string); !isString {
				t.Yield("there is no resultType")
			}
			t.Expect(result["resultType"]).To(BeOneOf[any]("complete"), "resultType")
		}
	}),

	"skills/get-same-entry": Probe(func(t *T) {
		eachGetResult(t, func(t *T, s skill, result M) {
			entry, isObject := result["skill"].(M)
			if !isObject {
				t.Yield("there is no skill")
			}
			if sameEntry(s.entry, entry) {
				return
			}
			now := slices.ContainsFunc(readList(t).entries, func(e M) bool { return sameEntry(e, entry) })
			t.Expect(now).To(BeTrue("the entry of skills/list: "+Show(s.entry), "%s", Show(entry)))
		})
	}),

	"skills/get-unknown-refused": Probe(func(t *T) {
		r := requestInvalidByURI(t, getMethod, "skill://mcpcheck-no-such-skill"+skillFile)
		if code, _ := r.Code(); code == -32601 {
			t.Yield("it is not served")
		}
		t.Expect(r).To(BeError(-32602))
	}),

	"skills/get-no-cursor": Probe(func(t *T) {
		eachGetResult(t, func(t *T, _ skill, result M) {
			t.Expect(Member(result, "nextCursor")).To(BeOneOf[any](Absent{}), "nextCursor")
		})
	}),
}

// extensionParams are params of a request of the extension.
func extensionParams(params M) M {
	return protocol.WithCapabilities(params, protocol.ExtensionCapabilities(extension))
}

// requestByURI asks for what is under a URI.
func requestByURI(t *T, method, uri string) driver.Reply {
	return t.Request(t.Session(), method, extensionParams(M{"uri": uri}))
}

// requestInvalidByURI asks for what is not under a URI.
func requestInvalidByURI(t *T, method, uri string) driver.Reply {
	return invalid.RequestInvalid(t, t.Session(), method, extensionParams(M{"uri": uri}))
}

// skillList is what skills/list says.
type skillList struct {
	entries []M
	pages   []M   // without their entries
	refused bool  // the first page is not a list
	err     error // why it was not read to its end
}

// requireList is the list, for a check that cannot do without.
func requireList(t *T) skillList {
	c := Step(t, listMethod, readList)
	var endless *EndlessListError
	switch {
	case c.refused:
		t.Yield("it is not served")
	case errors.As(c.err, &endless):
		t.Yield("it does not come to an end")
	case c.err != nil:
		t.Retry("%v", Explain(c.err))
	}
	return c
}

// readList reads the list to its end.
func readList(t *T) (c skillList) {
	c.err = EachPage(t.Session(), listMethod, "skills", extensionParams(nil), func(page M) {
		c.entries = append(c.entries, protocol.ObjectsIn(page["skills"])...)
		c.pages = append(c.pages, protocol.WithoutMember(page, "skills"))
	})
	c.refused = c.pages == nil && !isLost(c.err)
	return c
}

// isLost reports whether an error is that nothing came.
func isLost(err error) bool {
	var silence *driver.TimeoutError
	var death *driver.SessionEndError
	return errors.As(err, &silence) || errors.As(err, &death)
}

// expectCacheHints wants a result to say how long and by whom it may be kept.
func expectCacheHints(t *T, result M) {
	for _, hint := range []string{"ttlMs", "cacheScope"} {
		t.Expect(HasMember(result, hint)).To(BeTrue("ttlMs and cacheScope", "no %s", hint))
	}
}

// maxSkills is how many of the listed skills are tried one by one.
const maxSkills = 8

// getResult is a skill of the list, and what skills/get says of it.
type getResult struct {
	skill  skill
	result M
}

func (a getResult) subject() Subject { return a.skill.subject() }

// getResults are the answers of skills/get for the first skills of the list, as far as there are results.
func getResults(t *T) []getResult {
	return Step(t, getMethod, func(t *T) (all []getResult) {
		for _, s := range requireList(t).skills() {
			if uri, _ := s.entry["uri"].(string); strings.HasSuffix(uri, skillFile) && len(all) < maxSkills {
				if result := requestByURI(t, getMethod, uri).Result(); result != nil {
					all = append(all, getResult{s, result})
				}
			}
		}
		return all
	})
}

// eachGetResult tries a check on them.
func eachGetResult(t *T, run func(t *T, s skill, result M)) {
	all := getResults(t)
	if len(all) == 0 {
		t.WithReason(NotObserved).Skip("there was no result of skills/get")
	}
	Each(t, all, getResult.subject, func(t *T, a getResult) { run(t, a.skill, a.result) })
}

// sameEntry reports whether two entries say the same, whatever the order of the files.
func sameEntry(a, b M) bool {
	sorted := func(e M) string {
		files, isList := e["resources"].([]any)
		if !isList {
			return string(CompactJSON(protocol.WithoutMember(e, "_meta")))
		}
		var texts []string
		for _, file := range files {
			texts = append(texts, string(CompactJSON(file)))
		}
		slices.Sort(texts)
		return string(CompactJSON(protocol.WithoutMember(protocol.WithoutMember(e, "_meta"), "resources"))) + strings.Join(texts,
			"\n")
	}
	return sorted(a) == sorted(b)
}
