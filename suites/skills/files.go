package skills

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// maxReads is the number of files that are read of each skill besides its SKILL.md, and maxFileBytes the largest
// declared size of such a file.
const (
	maxReads     = 6
	maxFileBytes = 1 << 20
)

// fileChecks are the checks of the files of skills when they are read.
var fileChecks = check.Suite{
	"skills/skill-md-readable": check.Probe(func(t *check.T) {
		eachFile(t, isSkillFile, func(t *check.T, r fileRead) {
			t.Expect(r.reply).To(check.BeResult())
			t.Expect(r.content != nil).To(check.BeTrue("contents with text or blob", "%s", r.reply))
		})
	}),

	"skills/files-readable": check.Probe(func(t *check.T) {
		eachFile(t, isOtherFile, func(t *check.T, r fileRead) {
			t.Expect(r.reply).To(check.BeResult())
			t.Expect(r.content != nil).To(check.BeTrue("contents with text or blob", "%s", r.reply))
		})
	}),

	"skills/skill-md-frontmatter": check.Probe(func(t *check.T) {
		eachFile(t, isSkillFile, func(t *check.T, r fileRead) {
			node, err := frontmatterIn(string(r.requireBytes(t)))
			t.Expect(err == nil).To(check.BeTrue("YAML between two lines of ---", "%v", err))
			for _, name := range []string{"name", "description"} {
				t.Expect(mappingMember(node, name) != nil).To(check.BeTrue(name+" in the frontmatter", "none"))
			}
		})
	}),

	"skills/frontmatter-identical": check.Probe(func(t *check.T) {
		eachFile(t, isSkillFile, func(t *check.T, r fileRead) {
			node, err := frontmatterIn(string(r.requireBytes(t)))
			if err != nil {
				t.Yield("%v", err)
			}
			for _, name := range []string{"name", "description"} {
				_, isString := r.skill.frontmatter()[name].(string)
				switch {
				case !isString:
					t.Yield("the entry has no %s", name)
				case mappingMember(node, name) == nil:
					t.Yield("SKILL.md has no %s", name)
				}
			}
			at := difference(node, r.skill.frontmatter(), "")
			t.Expect(at).To(check.BeOneOf(""), "where the entry has something else than SKILL.md")
		})
	}),

	"skills/digests-match": check.Probe(func(t *check.T) {
		eachFile(t, isListed, func(t *check.T, r fileRead) {
			sum := sha256.Sum256(r.requireBytes(t))
			digest, _ := r.file["digest"].(string)
			if !digestPattern.MatchString(digest) {
				t.Yield("the digest is not one")
			}
			t.Expect(digest).To(check.BeOneOf("sha256:"+hex.EncodeToString(sum[:])), "the digest of what is read")
		})
	}),

	"skills/sizes-match": check.Probe(func(t *check.T) {
		eachFile(t, isListed, func(t *check.T, r fileRead) {
			n := len(r.requireBytes(t))
			if _, isNumber := r.file["size"].(json.Number); !isNumber {
				t.Yield("there is no size")
			}
			t.Expect(number(r.file["size"])).To(check.BeOneOf(float64(n)), "the size of what is read")
		})
	}),

	"skills/skill-md-mime-type": check.Probe(func(t *check.T) {
		eachFile(t, isSkillFile, func(t *check.T, r fileRead) {
			r.requireBytes(t)
			mime, _ := r.content["mimeType"].(string)
			kind, _, _ := strings.Cut(strings.ToLower(mime), ";")
			t.Expect(strings.TrimSpace(kind)).To(check.BeOneOf("text/markdown"), "mimeType")
		})
	}),

	"skills/listed-metadata": check.Probe(func(t *check.T) {
		var all []listedFile
		for _, s := range allSkills(t) {
			for _, resource := range t.Server.Resources {
				if resource["uri"] == s.entry["uri"] {
					all = append(all, listedFile{s, resource})
				}
			}
		}
		if len(all) == 0 {
			t.Skip(check.NotOffered, "resources/list has no SKILL.md")
		}
		check.Each(t, all, listedFile.subject, func(t *check.T, f listedFile) {
			for _, name := range []string{"name", "description"} {
				t.Expect(check.Member(f.resource, name)).To(check.BeOneOf(f.skill.frontmatter()[name]), "%s", name)
			}
		})
	}),

	"skills/meta-prefix": check.Probe(func(t *check.T) {
		eachFile(t, isSkillFile, func(t *check.T, r fileRead) {
			own, other := r.fieldKeys(t)
			t.Expect(other).To(check.BeEmptyList[string]("fields of the frontmatter with the prefix " + metaPrefix))
			if len(own) == 0 {
				t.Skip(check.NotObserved, "no _meta has a field of the frontmatter")
			}
		})
	}),

	"skills/unserved-file-refused": check.Probe(func(t *check.T) {
		s := allSkills(t)[0]
		r := invalid.RequestInvalid(t, t.Session(), "resources/read",
			check.M{"uri": s.root(t) + "/mcpcheck-no-such-file.md"})
		if code, _ := r.Code(); protocol.IsRetiredCode(code) {
			t.Yield("%d is of earlier revisions", code)
		}
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),
}

// metaPrefix is the prefix of keys of _meta that expose fields of the frontmatter.
const metaPrefix = "io.modelcontextprotocol.skills/"

// fieldKeys returns the keys in the _meta of a SKILL.md, as it is listed and as it is read, that are named after fields
// of its frontmatter: those with the prefix of the extension, and others.
func (r fileRead) fieldKeys(t *check.T) (own, other []string) {
	metas := []check.M{protocol.MetaOf(r.content)}
	for _, resource := range t.Server.Resources {
		if resource["uri"] == r.uri {
			metas = append(metas, protocol.MetaOf(resource))
		}
	}
	for _, meta := range metas {
		for key := range meta {
			switch name := key[strings.LastIndex(key, "/")+1:]; {
			case !check.HasMember(r.skill.frontmatter(), name):
			case key == metaPrefix+name:
				own = append(own, key)
			default:
				other = append(other, key)
			}
		}
	}
	return own, protocol.Sorted(other)
}

// listedFile is a SKILL.md in resources/list.
type listedFile struct {
	skill    skill
	resource check.M
}

func (f listedFile) subject() check.Subject {
	return check.Subject{Name: f.skill.subject().Name, Value: f.resource}
}

// fileRead is a file of a skill, with the reply to reading it.
type fileRead struct {
	skill skill
	uri   string
	// file is the entry of the file in the manifest; nil if it is not listed.
	file  check.M
	reply driver.Reply
	// content is the content of the file in the reply; nil if there is none.
	content check.M
}

// fileReads reads the SKILL.md and some other files of the first skills of the list. Files that differ from their entry
// are read again, with the current entry, since the skill may have changed.
func fileReads(t *check.T) []fileRead {
	return check.Step(t, "files of skills", func(t *check.T) (all []fileRead) {
		skills := allSkills(t)
		for _, s := range skills[:min(len(skills), maxSkills)] {
			uri, _ := s.entry["uri"].(string)
			if !strings.HasSuffix(uri, skillFile) {
				continue
			}
			all = append(all, s.readFile(t, uri))
			n := 0
			for _, other := range s.uris() {
				if other != uri && n < maxReads && number(s.file(other)["size"]) <= maxFileBytes {
					all = append(all, s.readFile(t, other))
					n++
				}
			}
		}
		return all
	})
}

// readFile reads a file. If the file differs from its entry, it is read again with the current entry.
func (s skill) readFile(t *check.T, uri string) fileRead {
	r := s.readFileOnce(t, uri)
	if r.matchesDigest() {
		return r
	}
	own, _ := s.entry["uri"].(string)
	if now, isObject := requestByURI(t, getMethod, own).Result()["skill"].(check.M); isObject && now["uri"] == own {
		return skill{now}.readFileOnce(t, uri)
	}
	return r
}

func (s skill) readFileOnce(t *check.T, uri string) fileRead {
	r := fileRead{skill: s, uri: uri, file: s.file(uri),
		reply: t.Send(t.Session(), "resources/read", check.M{"uri": uri})}
	contents := protocol.ObjectsIn(r.reply.Result()["contents"])
	for _, content := range contents {
		if content["uri"] == uri || len(contents) == 1 {
			r.content = content
		}
	}
	if _, ok := r.bytes(); !ok {
		r.content = nil
	}
	return r
}

// bytes returns the content of the file; ok reports whether there is any.
func (r fileRead) bytes() (raw []byte, ok bool) {
	if text, isText := r.content["text"].(string); isText {
		return []byte(text), true
	}
	blob, isBlob := r.content["blob"].(string)
	raw, err := base64.StdEncoding.DecodeString(blob)
	return raw, isBlob && err == nil
}

// matchesDigest reports whether the file has the digest of its entry, or the entry has none.
func (r fileRead) matchesDigest() bool {
	raw, ok := r.bytes()
	digest, _ := r.file["digest"].(string)
	sum := sha256.Sum256(raw)
	return !ok || digest == "" || digest == "sha256:"+hex.EncodeToString(sum[:])
}

// requireBytes returns the content of the file; without any, it ends the check.
func (r fileRead) requireBytes(t *check.T) []byte {
	raw, ok := r.bytes()
	if !ok {
		t.Yield("it cannot be read")
	}
	return raw
}

func isSkillFile(r fileRead) bool { return r.uri == r.skill.entry["uri"] }

func isOtherFile(r fileRead) bool { return !isSkillFile(r) }

// isListed reports whether the manifest lists the file.
func isListed(r fileRead) bool { return r.file != nil }

func (r fileRead) subject() check.Subject {
	return check.Subject{Name: r.uri, Frames: []*driver.Frame{r.reply.Request, r.reply.Frame}}
}

// eachFile runs a check on the files that kind selects.
func eachFile(t *check.T, kind func(fileRead) bool, run func(*check.T, fileRead)) {
	var all []fileRead
	for _, r := range fileReads(t) {
		if kind(r) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		t.Skip(check.NotOffered, "no skill has such a file")
	}
	check.Each(t, all, fileRead.subject, run)
}
