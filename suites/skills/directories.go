package skills

import (
	"slices"
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// directoryChecks are the checks of the directories of skills.
var directoryChecks = Suite{
	"skills/directory-read-implemented": eachListing(func(t *T, l directoryListing) {
		t.Expect(l.err == nil).To(BeTrue("a result with resources", "%v", l.err))
	}),

	"skills/directory-children": eachListing(func(t *T, l directoryListing) {
		l.requireRead(t)
		missing := slices.DeleteFunc(l.expectedURIs(), func(uri string) bool { return l.child(uri) != nil })
		t.Expect(missing).To(BeEmptyList[string]("each file and directory in it"))
	}),

	"skills/directory-direct-only": eachListing(func(t *T, l directoryListing) {
		l.requireRead(t)
		var others []string
		for _, child := range l.children {
			uri, _ := child["uri"].(string)
			name, inside := strings.CutPrefix(uri, l.uri+"/")
			if !inside || name == "" || strings.Contains(name, "/") {
				others = append(others, Show(Member(child, "uri")))
			}
		}
		t.Expect(others).To(BeEmptyList[string]("what is in the directory itself"))
	}),

	"skills/directory-marks-directories": eachListing(func(t *T, l directoryListing) {
		l.requireRead(t)
		for _, uri := range l.expectedURIs() {
			child := l.child(uri)
			if child == nil {
				continue // which skills/directory-children reports
			}
			isDirectory := !slices.Contains(l.skill.uris(), uri)
			t.Expect((child["mimeType"] == directoryType) == isDirectory).To(
				BeTrue("mimeType inode/directory for directories alone", "%s", Show(child)))
		}
	}),

	"skills/directory-refuses-others": Probe(func(t *T) {
		all := directoryListings(t, false)
		t.Expect(requestInvalidByURI(t, directoryMethod, all[0].uri+"/mcpcheck-no-such-directory")).To(BeError(-32602))
		t.Expect(requestInvalidByURI(t, directoryMethod, all[0].skill.requireURI(t))).To(BeError(-32602), "of a file")
	}),

	"skills/manifest-complete": eachListing(func(t *T, l directoryListing) {
		l.requireRead(t)
		var unlisted []string
		for _, child := range l.children {
			uri, _ := child["uri"].(string)
			isFile := child["mimeType"] != directoryType && isBelow(l.uri, uri) && uri != l.skill.entry["uri"]
			if isFile && !slices.Contains(l.expectedURIs(), uri) && !slices.Contains(l.currentURIs(t), uri) {
				unlisted = append(unlisted, uri)
			}
		}
		t.Expect(unlisted).To(BeEmptyList[string]("each file of the directory in the entry of the skill"))
	}),
}

// directoryType is the media type of directories.
const directoryType = "inode/directory"

// directoryListing is a directory of a skill that lists its files, and what is in it.
type directoryListing struct {
	skill    skill
	uri      string
	children []M
	pages    []M // without the children
	err      error
}

// maxDirectories is how many directories of a skill are read.
const maxDirectories = 6

// directoryListings are the directories of the first skills. Without any the check ends, unless it can do without.
func directoryListings(t *T, orNone bool) []directoryListing {
	all := Step(t, directoryMethod, readDirectories)
	switch {
	case len(all) > 0 || orNone:
		return all
	case t.Server.Extension(extension)["directoryRead"] != true:
		t.WithReason(NotDeclared).Skip("the server does not declare directoryRead")
	}
	t.WithReason(NotOffered).Skip("no skill lists its files")
	return nil
}

func readDirectories(t *T) (all []directoryListing) {
	if t.Server.Extension(extension)["directoryRead"] != true {
		return nil
	}
	skills := requireList(t).skills()
	for _, s := range skills[:min(len(skills), maxSkills)] {
		uri, _ := s.entry["uri"].(string)
		root, isSkill := strings.CutSuffix(uri, skillFile)
		if !isSkill || len(s.manifest()) == 0 {
			continue
		}
		own := s.directories(root)
		for _, at := range own[:min(len(own), maxDirectories)] {
			all = append(all, s.readDirectory(t, at))
		}
	}
	return all
}

// readDirectory reads what is in a directory.
func (s skill) readDirectory(t *T, uri string) directoryListing {
	l := directoryListing{skill: s, uri: uri}
	l.err = EachPage(t.Session(), directoryMethod, "resources", extensionParams(M{"uri": uri}), func(page M) {
		l.children = append(l.children, protocol.ObjectsIn(page["resources"])...)
		l.pages = append(l.pages, protocol.WithoutMember(page, "resources"))
	})
	if isLost(l.err) {
		t.Retry("%v", Explain(l.err))
	}
	return l
}

// directoryChecks are the root of the skill and the directories below it that have files.
func (s skill) directories(root string) []string {
	all := []string{root}
	for _, uri := range s.uris() {
		if !isBelow(root, uri) {
			continue
		}
		for at := uri[:strings.LastIndex(uri, "/")]; at != root; at = at[:strings.LastIndex(at, "/")] {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// expectedURIs are the files and directories in it, as the entry of the skill has them.
func (l directoryListing) expectedURIs() (uris []string) {
	for _, uri := range l.skill.uris() {
		if isBelow(l.uri, uri) {
			name, _, _ := strings.Cut(strings.TrimPrefix(uri, l.uri+"/"), "/")
			uris = append(uris, l.uri+"/"+name)
		}
	}
	slices.Sort(uris)
	return slices.Compact(uris)
}

// child is what is in it under a URI; nil when nothing is.
func (l directoryListing) child(uri string) M {
	i := slices.IndexFunc(l.children, func(c M) bool { return c["uri"] == uri })
	if i < 0 {
		return nil
	}
	return l.children[i]
}

// currentURIs are the files of the skill as its entry has them now.
func (l directoryListing) currentURIs(t *T) []string {
	return Step(t, "entry now: "+l.skill.requireURI(t), func(t *T) []string {
		entry, _ := requestByURI(t, getMethod, l.skill.requireURI(t)).Result()["skill"].(M)
		return append(skill{entry}.uris(), l.skill.uris()...)
	})
}

// requireRead ends a check that cannot do without the children.
func (l directoryListing) requireRead(t *T) {
	if l.err != nil {
		t.Yield("it is not served")
	}
}

func (l directoryListing) subject() Subject {
	return Subject{Name: l.uri, Value: M{"uri": l.uri, "resources": l.children}}
}

// eachListing is the check that tries something on the directories.
func eachListing(run func(*T, directoryListing)) Check {
	return Probe(func(t *T) { Each(t, directoryListings(t, false), directoryListing.subject, run) })
}
