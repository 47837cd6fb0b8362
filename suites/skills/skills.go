// Package skills holds the checks of the skills extension: directories of instructions that a server lists and serves
// as resources.
//
// The list is read once, and the files and directories of the first maxSkills skills once each. Files that differ from
// their entry are read again before a check fails, since skills may change.
package skills

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(declarationChecks, entryChecks, fileChecks, directoryChecks)

const (
	extension       = "io.modelcontextprotocol/skills"
	listMethod      = "skills/list"
	getMethod       = "skills/get"
	directoryMethod = "resources/directory/read"
	skillFile       = "/SKILL.md"
)

// declarationChecks are the checks of what a server declares, and of the methods that it then has to serve.
var declarationChecks = check.Suite{
	"skills/settings-shape": check.Probe(func(t *check.T) {
		extensions, _ := t.Server.Capabilities["extensions"].(check.M)
		t.DecidedBy(t.Server.ConnectReply).Expect(extensions[extension]).To(check.BeObject(), extension)
		t.DecidedBy(t.Server.ConnectReply).Expect(check.Member(extensions[extension].(check.M), "directoryRead")).To(
			check.BeOneOf[any](true, false, check.Absent{}), "directoryRead")
	}),

	"skills/needs-resources": check.Probe(func(t *check.T) {
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Declares("resources")).
			To(check.BeTrue("the capability resources",
				"none"))
	}),

	"skills/list-implemented": check.Probe(func(t *check.T) {
		r := t.Send(t.Session(), listMethod, extensionParams(nil), check.AllowSilence)
		t.Expect(r).To(check.BeResult())
		t.Expect(check.Member(r.Result(), "skills")).To(check.BeArray(), "skills")
	}),

	"skills/get-implemented": check.Probe(func(t *check.T) {
		c := requireList(t)
		if len(c.entries) == 0 {
			code, _ := requestByURI(t, getMethod, "skill://mcpcheck-no-such-skill"+skillFile).Code()
			t.Expect(code).NotTo(check.BeOneOf(errcode.MethodNotFound), "the code of the error for an unknown skill")
			return
		}
		eachSkill(t, func(t *check.T, s skill) {
			r := requestByURI(t, getMethod, s.requireURI(t))
			t.Expect(r).To(check.BeResult())
			t.Expect(check.Member(r.Result(), "skill")).To(check.BeObject(), "skill")
		})
	}),

	"skills/list-cache-hints": check.Probe(func(t *check.T) {
		pages := requireList(t).pages
		for _, page := range pages {
			expectCacheHints(t, page)
		}
	}),

	"skills/get-cache-hints": check.Probe(func(t *check.T) {
		eachGetResult(t, func(t *check.T, _ skill, result check.M) { expectCacheHints(t, result) })
	}),

	"skills/cache-hints-valid": check.Probe(func(t *check.T) {
		results := requireList(t).pages
		for _, g := range getResults(t) {
			results = append(results, g.result)
		}
		for _, result := range results {
			if ttl, has := result["ttlMs"]; has {
				t.Expect(ttl).To(check.BeInteger(), "ttlMs")
				// A number that is too large becomes infinity.
				milliseconds, _ := ttl.(json.Number).Float64()
				t.Expect(milliseconds >= 0).To(check.BeTrue("a number from 0 on", "%s", check.Show(ttl)))
			}
			t.Expect(check.Member(result, "cacheScope")).To(check.BeOneOf[any]("public", "private", check.Absent{}),
				"cacheScope")
		}
	}),

	"skills/result-complete": check.Probe(func(t *check.T) {
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
			t.Expect(result["resultType"]).To(check.BeOneOf[any]("complete"), "resultType")
		}
	}),

	"skills/get-same-entry": check.Probe(func(t *check.T) {
		eachGetResult(t, func(t *check.T, s skill, result check.M) {
			entry, isObject := result["skill"].(check.M)
			if !isObject {
				t.Yield("there is no skill")
			}
			if sameEntry(s.entry, entry) {
				return
			}
			now := slices.ContainsFunc(readList(t).entries, func(e check.M) bool { return sameEntry(e, entry) })
			t.Expect(now).To(check.BeTrue("the entry of skills/list: "+check.Show(s.entry), "%s", check.Show(entry)))
		})
	}),

	"skills/get-unknown-refused": check.Probe(func(t *check.T) {
		r := requestInvalidByURI(t, getMethod, "skill://mcpcheck-no-such-skill"+skillFile)
		if code, _ := r.Code(); code == errcode.MethodNotFound {
			t.Yield("it is not served")
		}
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"skills/get-no-cursor": check.Probe(func(t *check.T) {
		eachGetResult(t, func(t *check.T, _ skill, result check.M) {
			t.Expect(check.Member(result, "nextCursor")).To(check.BeOneOf[any](check.Absent{}), "nextCursor")
		})
	}),
}

// extensionParams returns params with the capabilities that requests of the extension need.
func extensionParams(params check.M) check.M {
	return protocol.WithCapabilities(params, protocol.ExtensionCapabilities(extension))
}

// requestByURI requests what has a URI.
func requestByURI(t *check.T, method, uri string) driver.Reply {
	return t.Send(t.Session(), method, extensionParams(check.M{"uri": uri}))
}

// requestInvalidByURI sends a request for a URI that the server has to reject.
func requestInvalidByURI(t *check.T, method, uri string) driver.Reply {
	return invalid.RequestInvalid(t, t.Session(), method, extensionParams(check.M{"uri": uri}))
}

// skillList is the result of skills/list.
type skillList struct {
	entries []check.M
	// pages are the result pages without the entries.
	pages []check.M
	// refused reports that the first reply is not a list.
	refused bool
	// err is why the list was not read to its end; nil if it was.
	err error
}

// requireList returns the list. If it could not be read, it ends the check.
func requireList(t *check.T) skillList {
	c := check.Step(t, listMethod, readList)
	var endless *check.EndlessListError
	switch {
	case c.refused:
		t.Yield("it is not served")
	case errors.As(c.err, &endless):
		t.Yield("it does not come to an end")
	case c.err != nil:
		t.Retry(check.Undecided, "%v", check.Explain(c.err))
	}
	return c
}

// readList reads the list to its end.
func readList(t *check.T) (c skillList) {
	c.err = check.EachPage(t.Session(), listMethod, "skills", extensionParams(nil), func(page check.M) {
		c.entries = append(c.entries, protocol.ObjectsIn(page["skills"])...)
		c.pages = append(c.pages, protocol.WithoutMember(page, "skills"))
	})
	c.refused = c.pages == nil && !isLost(c.err)
	return c
}

// isLost reports whether an error is a lost or missing response.
func isLost(err error) bool {
	var silence *driver.TimeoutError
	var death *driver.SessionEndError
	return errors.As(err, &silence) || errors.As(err, &death)
}

// expectCacheHints requires a result to have caching hints.
func expectCacheHints(t *check.T, result check.M) {
	for _, hint := range []string{"ttlMs", "cacheScope"} {
		t.Expect(check.HasMember(result, hint)).To(check.BeTrue("ttlMs and cacheScope", "no %s", hint))
	}
}

// maxSkills is the number of listed skills that are tried one by one.
const maxSkills = 8

// getResult is a skill of the list with the result of skills/get.
type getResult struct {
	skill  skill
	result check.M
}

func (a getResult) subject() check.Subject { return a.skill.subject() }

// getResults returns the results of skills/get for the first skills of the list.
func getResults(t *check.T) []getResult {
	return check.Step(t, getMethod, func(t *check.T) (all []getResult) {
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

// eachGetResult runs a check on each of getResults.
func eachGetResult(t *check.T, run func(t *check.T, s skill, result check.M)) {
	all := getResults(t)
	if len(all) == 0 {
		t.Skip(check.NotObserved, "there was no result of skills/get")
	}
	check.Each(t, all, getResult.subject, func(t *check.T, a getResult) { run(t, a.skill, a.result) })
}

// sameEntry reports whether two entries are equal but for the order of the files.
func sameEntry(a, b check.M) bool {
	sorted := func(e check.M) string {
		files, isList := e["resources"].([]any)
		if !isList {
			return string(text.CompactJSON(protocol.WithoutMember(e, "_meta")))
		}
		var texts []string
		for _, file := range files {
			texts = append(texts, string(text.CompactJSON(file)))
		}
		slices.Sort(texts)
		return string(text.CompactJSON(protocol.WithoutMember(protocol.WithoutMember(e, "_meta"),
			"resources"))) + strings.Join(texts,
			"\n")
	}
	return sorted(a) == sorted(b)
}
