package skills

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// These are the limits of a skill that every client has to accept.
const (
	maxFiles = 512
	maxBytes = 16 << 20
)

// entryChecks are the checks of the entries of skills.
var entryChecks = check.Suite{
	"skills/list-ends": check.Probe(func(t *check.T) {
		c := check.Step(t, listMethod, readList)
		if c.refused {
			t.Yield("it is not served")
		}
		endless := (*check.EndlessListError)(nil)
		t.Expect(errors.As(c.err, &endless)).To(check.BeOneOf(false), "%v", c.err)
		if len(c.pages) < 2 {
			t.Skip(check.NotOffered, "the list has one page")
		}
	}),

	"skills/entry-atomic": check.Probe(func(t *check.T) {
		var again []string
		known := map[string]bool{}
		for _, s := range allSkills(t) {
			uri, _ := s.entry["uri"].(string)
			if known[uri] {
				again = append(again, uri)
			}
			known[uri] = true
		}
		t.Expect(again).To(check.BeEmptyList[string]("one entry for each skill"))
	}),

	"skills/names-unique": check.Probe(func(t *check.T) {
		var again []string
		known := map[string]any{} // maps names to the URIs of their skills
		for _, s := range allSkills(t) {
			name, _ := s.frontmatter()["name"].(string)
			if uri, has := known[name]; has && uri != s.entry["uri"] {
				again = append(again, name)
			}
			known[name] = s.entry["uri"]
		}
		t.Expect(again).To(check.BeEmptyList[string]("each name once"))
	}),

	"skills/entry-uri": eachEntry(func(t *check.T, s skill) {
		t.Expect(check.Member(s.entry, "uri")).To(check.BeString(), "uri")
		uri := s.entry["uri"].(string)
		t.Expect(absoluteURIPattern.MatchString(uri) && strings.HasSuffix(uri, skillFile)).To(
			check.BeTrue("the URI of a SKILL.md", "%s", check.Show(uri)))
	}),

	"skills/frontmatter-present": eachEntry(func(t *check.T, s skill) {
		t.Expect(check.Member(s.entry, "frontmatter")).To(check.BeObject(), "frontmatter")
		for _, field := range []string{"name", "description"} {
			t.Expect(check.Member(s.frontmatter(), field)).To(check.BeString(), "%s in frontmatter", field)
		}
	}),

	"skills/path-matches-name": eachEntry(func(t *check.T, s skill) {
		root := s.root(t)
		last, err := url.PathUnescape(root[strings.LastIndex(root, "/")+1:])
		t.Expect(err == nil && last == s.requireName(t)).To(
			check.BeTrue("the name "+check.Show(s.requireName(t))+" before /SKILL.md", "%s", check.Show(last)))
	}),

	"skills/name-valid": eachEntry(func(t *check.T, s skill) {
		const longest = 64
		name := s.requireName(t)
		n := utf8.RuneCountInString(name)
		t.Expect(0 < n && n <= longest).To(check.BeTrue("1 to 64 characters", "%d", n))
		odd := strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && !unicode.IsDigit(r) && (!unicode.IsLetter(r) || unicode.IsUpper(r))
		})
		hyphens := strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--")
		t.Expect(!odd && !hyphens).To(
			check.BeTrue("lower-case letters, digits and single hyphens between them", "%s", check.Show(name)))
	}),

	"skills/description-valid": eachEntry(func(t *check.T, s skill) {
		const longest = 1024
		text, isString := s.frontmatter()["description"].(string)
		if !isString {
			t.Yield("there is no description")
		}
		n := utf8.RuneCountInString(strings.TrimSpace(text))
		t.Expect(0 < n && n <= longest).To(check.BeTrue("1 to 1024 characters", "%d", n))
	}),

	"skills/resources-present": eachEntry(func(t *check.T, s skill) {
		_, isList := s.entry["resources"].([]any)
		t.Expect(isList || s.entry["resources"] == "dynamic").To(
			check.BeTrue(`a list, or "dynamic"`, "%s", check.Show(check.Member(s.entry, "resources"))))
	}),

	"skills/resource-entries": eachManifest(func(t *check.T, s skill) {
		for _, item := range s.entry["resources"].([]any) {
			t.Expect(item).To(check.BeObject(), "an item of resources")
			file := item.(check.M)
			t.Expect(check.Member(file, "uri")).To(check.BeString(), "uri")
			t.Expect(check.Member(file, "digest")).To(check.BeString(), "digest")
			t.Expect(check.Member(file, "size")).To(check.BeInteger(), "size")
		}
	}),

	"skills/digest-format": eachManifest(func(t *check.T, s skill) {
		for _, f := range s.manifest() {
			if text, isString := f["digest"].(string); isString {
				t.Expect(digestPattern.MatchString(text)).To(
					check.BeTrue("sha256: and 64 lower-case hexadecimal digits", "%s", check.Show(text)))
			}
		}
	}),

	"skills/resources-include-skill-md": eachManifest(func(t *check.T, s skill) {
		t.Expect(slices.Contains(s.uris(), s.requireURI(t))).To(check.BeTrue("the SKILL.md itself", "%s",
			check.Show(s.uris())))
	}),

	"skills/resources-once": eachManifest(func(t *check.T, s skill) {
		uris := slices.Sorted(slices.Values(s.uris()))
		t.Expect(len(slices.Compact(slices.Clone(uris)))).To(check.BeOneOf(len(uris)), "different files")
	}),

	"skills/resources-below-root": eachManifest(func(t *check.T, s skill) {
		root := s.root(t)
		outside := slices.DeleteFunc(s.uris(), func(uri string) bool { return isBelow(root, uri) })
		t.Expect(outside).To(check.BeEmptyList[string]("files in the directory of the skill"))
	}),

	"skills/nested-complete": eachManifest(func(t *check.T, s skill) {
		var missing []string
		nested := false
		for _, inner := range allSkills(t) {
			uri, _ := inner.entry["uri"].(string)
			if inner.entry["uri"] == s.entry["uri"] || !isBelow(s.root(t), uri) {
				continue
			}
			nested = true
			for _, file := range append(inner.uris(), uri) {
				if !slices.Contains(s.uris(), file) {
					missing = append(missing, file)
				}
			}
		}
		t.Expect(missing).To(check.BeEmptyList[string]("the files of skills in it as well"))
		if !nested {
			t.Skip(check.NotObserved, "no listed skill is within another one")
		}
	}),

	"skills/limit-files": eachManifest(func(t *check.T, s skill) {
		t.Expect(len(s.manifest()) <= maxFiles).To(check.BeTrue("512 files at most", "%d", len(s.manifest())))
	}),

	"skills/limit-size": eachManifest(func(t *check.T, s skill) {
		sum := 0.0
		for _, f := range s.manifest() {
			sum += number(f["size"])
		}
		t.Expect(sum <= maxBytes).To(check.BeTrue("16 MiB at most", "%.0f bytes", sum))
	}),

	"skills/scheme": eachEntry(func(t *check.T, s skill) {
		t.Expect(strings.HasPrefix(s.requireURI(t), "skill://")).To(check.BeTrue("a URI of skill://", "%s",
			check.Show(s.entry["uri"])))
	}),

	"skills/path-segments": eachEntry(func(t *check.T, s skill) {
		_, path, _ := strings.Cut(s.root(t), "://")
		t.Expect(skillPathPattern.MatchString(path)).To(check.BeTrue("segments of a URI", "%s", check.Show(path)))
	}),
}

// absoluteURIPattern matches the beginning of an absolute URI.
var absoluteURIPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// digestPattern matches a digest.
var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// skillPathPattern matches a reg-name with path segments (RFC 3986).
var skillPathPattern = regexp.MustCompile(
	`^(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*$`,
)

// skill is an entry of skills/list.
type skill struct{ entry check.M }

// skills returns the entries of the list as skills.
func (c skillList) skills() (all []skill) {
	for _, e := range c.entries {
		all = append(all, skill{e})
	}
	return all
}

// allSkills returns the skills of the list. If there are none, it ends the check.
func allSkills(t *check.T) []skill {
	all := requireList(t).skills()
	if len(all) == 0 {
		t.Skip(check.NotOffered, "the server lists no skill")
	}
	return all
}

// eachSkill runs a check on the skills of the list.
func eachSkill(t *check.T, run func(*check.T, skill)) {
	check.Each(t, allSkills(t), skill.subject, run)
}

// eachEntry makes a check that judges each skill.
func eachEntry(run func(*check.T, skill)) check.Check {
	return check.Probe(func(t *check.T) { eachSkill(t, run) })
}

// eachManifest makes a check that judges each skill that lists its files.
func eachManifest(run func(*check.T, skill)) check.Check {
	return eachEntry(func(t *check.T, s skill) {
		if _, isList := s.entry["resources"].([]any); !isList {
			t.Skip(check.NotOffered, "no skill lists its files")
		}
		run(t, s)
	})
}

// subject returns the skill as a subject.
func (s skill) subject() check.Subject {
	uri, _ := s.entry["uri"].(string)
	return check.Subject{Name: uri, Value: s.entry}
}

// frontmatter returns the frontmatter of the entry; nil if it has none.
func (s skill) frontmatter() check.M {
	frontmatter, _ := s.entry["frontmatter"].(check.M)
	return frontmatter
}

// manifest returns the files that the entry lists.
func (s skill) manifest() []check.M {
	items, _ := s.entry["resources"].([]any)
	return check.Objects(items)
}

// uris returns the URIs of the files that the entry lists.
func (s skill) uris() (uris []string) {
	for _, f := range s.manifest() {
		if uri, ok := f["uri"].(string); ok {
			uris = append(uris, uri)
		}
	}
	return uris
}

// file returns the entry of a file in the manifest; nil if it is not listed.
func (s skill) file(uri string) check.M {
	all := s.manifest()
	if i := slices.IndexFunc(all, func(f check.M) bool { return f["uri"] == uri }); i >= 0 {
		return all[i]
	}
	return nil
}

// requireURI returns the URI of the SKILL.md; without one, it ends the check.
func (s skill) requireURI(t *check.T) string {
	uri, ok := s.entry["uri"].(string)
	if !ok || !strings.HasSuffix(uri, skillFile) {
		t.Yield("uri is not that of a SKILL.md")
	}
	return uri
}

// root returns the URI of the directory of the skill, as requireURI does.
func (s skill) root(t *check.T) string { return strings.TrimSuffix(s.requireURI(t), skillFile) }

// requireName returns the name of the skill; without one, it ends the check.
func (s skill) requireName(t *check.T) string {
	name, ok := s.frontmatter()["name"].(string)
	if !ok {
		t.Yield("there is no name")
	}
	return name
}

// isBelow reports whether a URI denotes a file in a directory or below it.
func isBelow(directory, uri string) bool {
	path, inside := strings.CutPrefix(uri, directory+"/")
	return inside && path != "" && !slices.Contains(strings.Split(path, "/"), "..")
}

// number returns a JSON number; 0 if the value is not one.
func number(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}
