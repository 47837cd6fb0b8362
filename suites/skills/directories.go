package skills

import (
	"slices"
	"strings"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// directories are the checks of the directories of skills.
var directories = Suite{
	"skills/directory-read-implemented": eachListing(func(t *T, l listing) {
		t.Expect(l.err == nil).To(Hold("a result with resources", "%v", l.err))
	}),

	"skills/directory-children": eachListing(func(t *T, l listing) {
		l.wantRead(t)
		missing := slices.DeleteFunc(l.expected(), func(uri string) bool { return l.child(uri) != nil })
		t.Expect(missing).To(BeEmptyList[string]("each file and directory in it"))
	}),

	"skills/directory-direct-only": eachListing(func(t *T, l listing) {
		l.wantRead(t)
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

	"skills/directory-marks-directories": eachListing(func(t *T, l listing) {
		l.wantRead(t)
		for _, uri := range l.expected() {
			child := l.child(uri)
			if child == nil {
				continue // which skills/directory-children reports
			}
			isDirectory := !slices.Contains(l.skill.uris(), uri)
			t.Expect((child["mimeType"] == directoryType) == isDirectory).To(
				Hold("mimeType inode/directory for directories alone", "%s", Show(child)))
		}
	}),

	"skills/directory-refuses-others": Probe(func(t *T) {
		all := listings(t, false)
		t.Expect(askAmiss(t, directory, all[0].uri+"/mcpcheck-no-such-directory")).To(BeError(-32602))
		t.Expect(askAmiss(t, directory, all[0].skill.wantURI(t))).To(BeError(-32602), "of a file")
	}),

	"skills/manifest-complete": eachListing(func(t *T, l listing) {
		l.wantRead(t)
		var unlisted []string
		for _, child := range l.children {
			uri, _ := child["uri"].(string)
			isFile := child["mimeType"] != directoryType && isBelow(l.uri, uri) && uri != l.skill.entry["uri"]
			if isFile && !slices.Contains(l.expected(), uri) && !slices.Contains(l.now(t), uri) {
				unlisted = append(unlisted, uri)
			}
		}
		t.Expect(unlisted).To(BeEmptyList[string]("each file of the directory in the entry of the skill"))
	}),
}

// directoryType is the media type of directories.
const directoryType = "inode/directory"

// listing is a directory of a skill that lists its files, and what is in it.
type listing struct {
	skill    skill
	uri      string
	children []M
	pages    []M // without the children
	err      error
}

// mostDirectories is how many directories of a skill are read.
const mostDirectories = 6

// listings are the directories of the first skills. Without any the check ends, unless it can do without.
func listings(t *T, orNone bool) []listing {
	all := Step(t, directory, readDirectories)
	switch {
	case len(all) > 0 || orNone:
		return all
	case t.Server.Extension(extension)["directoryRead"] != true:
		t.Because(NotDeclared).Skip("the server does not declare directoryRead")
	}
	t.Because(NotOffered).Skip("no skill lists its files")
	return nil
}

func readDirectories(t *T) (all []listing) {
	if t.Server.Extension(extension)["directoryRead"] != true {
		return nil
	}
	skills := listed(t).skills()
	for _, s := range skills[:min(len(skills), mostSkills)] {
		uri, _ := s.entry["uri"].(string)
		root, isSkill := strings.CutSuffix(uri, skillFile)
		if !isSkill || len(s.manifest()) == 0 {
			continue
		}
		own := s.directories(root)
		for _, at := range own[:min(len(own), mostDirectories)] {
			all = append(all, s.readDirectory(t, at))
		}
	}
	return all
}

// readDirectory reads what is in a directory.
func (s skill) readDirectory(t *T, uri string) listing {
	l := listing{skill: s, uri: uri}
	l.err = EachPage(t.Session(), directory, "resources", asking(M{"uri": uri}), func(page M) {
		l.children = append(l.children, kit.ObjectsIn(page["resources"])...)
		l.pages = append(l.pages, kit.Without(page, "resources"))
	})
	if isLost(l.err) {
		t.Again("%v", Explain(l.err))
	}
	return l
}

// directories are the root of the skill and the directories below it that have files.
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

// expected are the files and directories in it, as the entry of the skill has them.
func (l listing) expected() (uris []string) {
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
func (l listing) child(uri string) M {
	i := slices.IndexFunc(l.children, func(c M) bool { return c["uri"] == uri })
	if i < 0 {
		return nil
	}
	return l.children[i]
}

// now are the files of the skill as its entry has them now.
func (l listing) now(t *T) []string {
	return Step(t, "entry now: "+l.skill.wantURI(t), func(t *T) []string {
		entry, _ := ask(t, get, l.skill.wantURI(t)).Result()["skill"].(M)
		return append(skill{entry}.uris(), l.skill.uris()...)
	})
}

// wantRead ends a check that cannot do without the children.
func (l listing) wantRead(t *T) {
	if l.err != nil {
		t.Yield("it is not served")
	}
}

func (l listing) subject() Subject {
	return Subject{Name: l.uri, Value: M{"uri": l.uri, "resources": l.children}}
}

// eachListing is the check that tries something on the directories.
func eachListing(run func(*T, listing)) Check {
	return Probe(func(t *T) { Each(t, listings(t, false), listing.subject, run) })
}
