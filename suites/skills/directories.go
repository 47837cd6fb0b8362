package skills

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// directoryChecks are the checks of the directories of skills.
var directoryChecks = check.Suite{
	"skills/directory-read-implemented": eachListing(func(t *check.T, l directoryListing) {
		t.Expect(l.err == nil).To(check.BeTrue("a result with resources", "%v", l.err))
	}),

	"skills/directory-children": eachListing(func(t *check.T, l directoryListing) {
		l.requireRead(t)
		missing := slices.DeleteFunc(l.expectedURIs(), func(uri string) bool { return l.child(uri) != nil })
		t.Expect(missing).To(check.BeEmptyList[string]("each file and directory in it"))
	}),

	"skills/directory-direct-only": eachListing(func(t *check.T, l directoryListing) {
		l.requireRead(t)
		var others []string
		for _, child := range l.children {
			uri, _ := child["uri"].(string)
			name, inside := strings.CutPrefix(uri, l.uri+"/")
			if !inside || name == "" || strings.Contains(name, "/") {
				others = append(others, check.Show(check.Member(child, "uri")))
			}
		}
		t.Expect(others).To(check.BeEmptyList[string]("what is in the directory itself"))
	}),

	"skills/directory-marks-directories": eachListing(func(t *check.T, l directoryListing) {
		l.requireRead(t)
		for _, uri := range l.expectedURIs() {
			child := l.child(uri)
			if child == nil {
				continue // skills/directory-children reports it
			}
			isDirectory := !slices.Contains(l.skill.uris(), uri)
			t.Expect((child["mimeType"] == directoryType) == isDirectory).To(
				check.BeTrue("mimeType inode/directory for directories alone", "%s", check.Show(child)))
		}
	}),

	"skills/directory-refuses-others": check.Probe(func(t *check.T) {
		all := directoryListings(t, false)
		t.Expect(requestInvalidByURI(t, directoryMethod, all[0].uri+"/mcpcheck-no-such-directory")).
			To(check.BeError(errcode.InvalidParams))
		t.Expect(requestInvalidByURI(t, directoryMethod,
			all[0].skill.requireURI(t))).To(check.BeError(errcode.InvalidParams),
			"of a file")
	}),

	"skills/manifest-complete": eachListing(func(t *check.T, l directoryListing) {
		l.requireRead(t)
		var unlisted []string
		for _, child := range l.children {
			uri, _ := child["uri"].(string)
			isFile := child["mimeType"] != directoryType && isBelow(l.uri, uri) && uri != l.skill.entry["uri"]
			if isFile && !slices.Contains(l.expectedURIs(), uri) && !slices.Contains(l.currentURIs(t), uri) {
				unlisted = append(unlisted, uri)
			}
		}
		t.Expect(unlisted).To(check.BeEmptyList[string]("each file of the directory in the entry of the skill"))
	}),
}

// directoryType is the media type of directories.
const directoryType = "inode/directory"

// directoryListing is a directory of a skill that lists its files, with its children.
type directoryListing struct {
	skill    skill
	uri      string
	children []check.M
	// pages are the result pages without the children.
	pages []check.M
	err   error
}

// maxDirectories is the number of directories that are read for each skill.
const maxDirectories = 6

// directoryListings returns the directories of the first skills. If there are none and orNone is not set, it ends the
// check.
func directoryListings(t *check.T, orNone bool) []directoryListing {
	all := check.Step(t, directoryMethod, readDirectories)
	switch {
	case len(all) > 0 || orNone:
		return all
	case t.Server.Extension(extension)["directoryRead"] != true:
		t.Skip(check.NotDeclared, "the server does not declare directoryRead")
	}
	t.Skip(check.NotOffered, "no skill lists its files")
	return nil
}

// readDirectories reads the directories of the first skills, if the server declares that.
func readDirectories(t *check.T) (all []directoryListing) {
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

// readDirectory reads the children of a directory.
func (s skill) readDirectory(t *check.T, uri string) directoryListing {
	l := directoryListing{skill: s, uri: uri}
	l.err = check.EachPage(t.Session(), directoryMethod, "resources", extensionParams(check.M{"uri": uri}),
		func(page check.M) {
			l.children = append(l.children, protocol.ObjectsIn(page["resources"])...)
			l.pages = append(l.pages, protocol.WithoutMember(page, "resources"))
		})
	if isLost(l.err) {
		t.Retry(check.Undecided, "%v", check.Explain(l.err))
	}
	return l
}

// directories returns the root of the skill and the directories below it that have files.
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

// expectedURIs returns the files and directories in the directory, according to the entry of the skill.
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

// child returns the child with a URI; nil if there is none.
func (l directoryListing) child(uri string) check.M {
	i := slices.IndexFunc(l.children, func(c check.M) bool { return c["uri"] == uri })
	if i < 0 {
		return nil
	}
	return l.children[i]
}

// currentURIs returns the files of the skill according to its current entry.
func (l directoryListing) currentURIs(t *check.T) []string {
	return check.Step(t, "entry now: "+l.skill.requireURI(t), func(t *check.T) []string {
		entry, _ := requestByURI(t, getMethod, l.skill.requireURI(t)).Result()["skill"].(check.M)
		return append(skill{entry}.uris(), l.skill.uris()...)
	})
}

// requireRead ends the check if the children could not be read.
func (l directoryListing) requireRead(t *check.T) {
	if l.err != nil {
		t.Yield("it is not served")
	}
}

func (l directoryListing) subject() check.Subject {
	return check.Subject{Name: l.uri, Value: check.M{"uri": l.uri, "resources": l.children}}
}

// eachListing makes a check that judges each directory.
func eachListing(run func(*check.T, directoryListing)) check.Check {
	return check.Probe(func(t *check.T) { check.Each(t, directoryListings(t, false), directoryListing.subject, run) })
}
