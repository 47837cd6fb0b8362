// Package skills is the area of the extension skills: directories of instructions that a server serves as resources.
package skills

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(declaration, entries, files, directories)

const (
	extension = "io.modelcontextprotocol/skills"
	list      = "skills/list"
	get       = "skills/get"
	directory = "resources/directory/read"
	skillFile = "/SKILL.md"
)

// declaration are the checks of what a server declares, and of the methods that it serves then.
var declaration = Suite{
	"skills/settings-shape": Probe(func(t *T) {
		extensions, _ := t.Server.Capabilities["extensions"].(M)
		t.By(t.Server.First).Expect(extensions[extension]).To(BeObject(), extension)
		t.By(t.Server.First).Expect(Member(extensions[extension].(M), "directoryRead")).To(
			BeOneOf[any](true, false, Absent{}), "directoryRead")
	}),

	"skills/needs-resources": Probe(func(t *T) {
		t.By(t.Server.First).Expect(t.Server.Declares("resources")).To(Hold("the capability resources", "none"))
	}),

	"skills/list-implemented": Probe(func(t *T) {
		r := t.Try(t.Session(), list, asking(nil))
		t.Expect(r).To(BeResult())
		t.Expect(Member(r.Result(), "skills")).To(BeArray(), "skills")
	}),

	"skills/get-implemented": Probe(func(t *T) {
		c := listed(t)
		if len(c.entries) == 0 {
			code, _ := ask(t, get, "skill://mcpcheck-no-such-skill"+skillFile).Code()
			t.Expect(code).NotTo(BeOneOf(-32601), "the code of the error for an unknown skill")
			return
		}
		eachSkill(t, func(t *T, s skill) {
			r := ask(t, get, s.wantURI(t))
			t.Expect(r).To(BeResult())
			t.Expect(Member(r.Result(), "skill")).To(BeObject(), "skill")
		})
	}),

	"skills/list-cache-hints": Probe(func(t *T) {
		pages := listed(t).pages
		for _, page := range pages {
			wantHints(t, page)
		}
	}),

	"skills/get-cache-hints": Probe(func(t *T) {
		eachGot(t, func(t *T, _ skill, result M) { wantHints(t, result) })
	}),

	"skills/cache-hints-valid": Probe(func(t *T) {
		results := listed(t).pages
		for _, g := range got(t) {
			results = append(results, g.result)
		}
		for _, result := range results {
			if ttl, has := result["ttlMs"]; has {
				t.Expect(ttl).To(BeInteger(), "ttlMs")
				milliseconds, _ := ttl.(json.Number).Float64() // of too large a number: infinity
				t.Expect(milliseconds >= 0).To(Hold("a number from 0 on", "%s", Show(ttl)))
			}
			t.Expect(Member(result, "cacheScope")).To(BeOneOf[any]("public", "private", Absent{}), "cacheScope")
		}
	}),

	"skills/result-complete": Probe(func(t *T) {
		results := listed(t).pages
		for _, g := range got(t) {
			results = append(results, g.result)
		}
		for _, l := range listings(t, true) {
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
		eachGot(t, func(t *T, s skill, result M) {
			entry, isObject := result["skill"].(M)
			if !isObject {
				t.Yield("there is no skill")
			}
			if isSame(s.entry, entry) {
				return
			}
			now := slices.ContainsFunc(readList(t).entries, func(e M) bool { return isSame(e, entry) })
			t.Expect(now).To(Hold("the entry of skills/list: "+Show(s.entry), "%s", Show(entry)))
		})
	}),

	"skills/get-unknown-refused": Probe(func(t *T) {
		r := askAmiss(t, get, "skill://mcpcheck-no-such-skill"+skillFile)
		if code, _ := r.Code(); code == -32601 {
			t.Yield("it is not served")
		}
		t.Expect(r).To(BeError(-32602))
	}),

	"skills/get-no-cursor": Probe(func(t *T) {
		eachGot(t, func(t *T, _ skill, result M) {
			t.Expect(Member(result, "nextCursor")).To(BeOneOf[any](Absent{}), "nextCursor")
		})
	}),
}

// asking are params of a request of the extension.
func asking(params M) M { return kit.Declaring(params, kit.Extending(extension)) }

// ask asks for what is under a URI.
func ask(t *T, method, uri string) driver.Reply {
	return t.Ask(t.Session(), method, asking(M{"uri": uri}))
}

// askAmiss asks for what is not under a URI.
func askAmiss(t *T, method, uri string) driver.Reply {
	return kit.AskAmiss(t, t.Session(), method, asking(M{"uri": uri}))
}

// catalogue is what skills/list says.
type catalogue struct {
	entries []M
	pages   []M   // without their entries
	refused bool  // the first page is not a list
	err     error // why it was not read to its end
}

// listed is the list, for a check that cannot do without.
func listed(t *T) catalogue {
	c := Step(t, list, readList)
	var endless *Endless
	switch {
	case c.refused:
		t.Yield("it is not served")
	case errors.As(c.err, &endless):
		t.Yield("it does not come to an end")
	case c.err != nil:
		t.Again("%v", Explain(c.err))
	}
	return c
}

// readList reads the list to its end.
func readList(t *T) (c catalogue) {
	c.err = EachPage(t.Session(), list, "skills", asking(nil), func(page M) {
		c.entries = append(c.entries, kit.ObjectsIn(page["skills"])...)
		c.pages = append(c.pages, kit.Without(page, "skills"))
	})
	c.refused = c.pages == nil && !isLost(c.err)
	return c
}

// isLost reports whether an error is that nothing came.
func isLost(err error) bool {
	var silence *driver.Silence
	var death *driver.Death
	return errors.As(err, &silence) || errors.As(err, &death)
}

// wantHints wants a result to say how long and by whom it may be kept.
func wantHints(t *T, result M) {
	for _, hint := range []string{"ttlMs", "cacheScope"} {
		t.Expect(Has(result, hint)).To(Hold("ttlMs and cacheScope", "no %s", hint))
	}
}

// mostSkills is how many of the listed skills are tried one by one.
const mostSkills = 8

// answer is a skill of the list, and what skills/get says of it.
type answer struct {
	skill  skill
	result M
}

func (a answer) subject() Subject { return a.skill.subject() }

// got are the answers of skills/get for the first skills of the list, as far as there are results.
func got(t *T) []answer {
	return Step(t, get, func(t *T) (all []answer) {
		for _, s := range listed(t).skills() {
			if uri, _ := s.entry["uri"].(string); strings.HasSuffix(uri, skillFile) && len(all) < mostSkills {
				if result := ask(t, get, uri).Result(); result != nil {
					all = append(all, answer{s, result})
				}
			}
		}
		return all
	})
}

// eachGot tries a check on them.
func eachGot(t *T, run func(t *T, s skill, result M)) {
	all := got(t)
	if len(all) == 0 {
		t.Because(NotObserved).Skip("there was no result of skills/get")
	}
	Each(t, all, answer.subject, func(t *T, a answer) { run(t, a.skill, a.result) })
}

// isSame reports whether two entries say the same, whatever the order of the files.
func isSame(a, b M) bool {
	sorted := func(e M) string {
		files, isList := e["resources"].([]any)
		if !isList {
			return string(Compact(kit.Without(e, "_meta")))
		}
		var texts []string
		for _, file := range files {
			texts = append(texts, string(Compact(file)))
		}
		slices.Sort(texts)
		return string(Compact(kit.Without(kit.Without(e, "_meta"), "resources"))) + strings.Join(texts, "\n")
	}
	return sorted(a) == sorted(b)
}
