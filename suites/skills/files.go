package skills

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// What is read of the skills: of each so many files beside its SKILL.md, and none that is said to be longer.
const (
	mostReads = 6
	longest   = 1 << 20
)

// files are the checks of the files of skills, as they are read.
var files = Suite{
	"skills/skill-md-readable": Probe(func(t *T) {
		eachReading(t, isSkillFile, func(t *T, r reading) {
			t.Expect(r.reply).To(BeResult())
			t.Expect(r.content != nil).To(Hold("contents with text or blob", "%s", r.reply))
		})
	}),

	"skills/files-readable": Probe(func(t *T) {
		eachReading(t, isOther, func(t *T, r reading) {
			t.Expect(r.reply).To(BeResult())
			t.Expect(r.content != nil).To(Hold("contents with text or blob", "%s", r.reply))
		})
	}),

	"skills/skill-md-frontmatter": Probe(func(t *T) {
		eachReading(t, isSkillFile, func(t *T, r reading) {
			node, err := frontmatterIn(string(r.wantBytes(t)))
			t.Expect(err == nil).To(Hold("YAML between two lines of ---", "%v", err))
			for _, name := range []string{"name", "description"} {
				t.Expect(field(node, name) != nil).To(Hold(name+" in the frontmatter", "none"))
			}
		})
	}),

	"skills/frontmatter-identical": Probe(func(t *T) {
		eachReading(t, isSkillFile, func(t *T, r reading) {
			node, err := frontmatterIn(string(r.wantBytes(t)))
			if err != nil {
				t.Yield("%v", err)
			}
			for _, name := range []string{"name", "description"} {
				_, isString := r.skill.frontmatter()[name].(string)
				switch {
				case !isString:
					t.Yield("the entry has no %s", name)
				case field(node, name) == nil:
					t.Yield("SKILL.md has no %s", name)
				}
			}
			at := differs(node, r.skill.frontmatter(), "")
			t.Expect(at).To(BeOneOf(""), "where the entry has something else than SKILL.md")
		})
	}),

	"skills/digests-match": Probe(func(t *T) {
		eachReading(t, isListed, func(t *T, r reading) {
			sum := sha256.Sum256(r.wantBytes(t))
			digest, _ := r.file["digest"].(string)
			if !digestForm.MatchString(digest) {
				t.Yield("the digest is not one")
			}
			t.Expect(digest).To(BeOneOf("sha256:"+hex.EncodeToString(sum[:])), "the digest of what is read")
		})
	}),

	"skills/sizes-match": Probe(func(t *T) {
		eachReading(t, isListed, func(t *T, r reading) {
			n := len(r.wantBytes(t))
			if _, isNumber := r.file["size"].(json.Number); !isNumber {
				t.Yield("there is no size")
			}
			t.Expect(number(r.file["size"])).To(BeOneOf(float64(n)), "the size of what is read")
		})
	}),

	"skills/skill-md-mime-type": Probe(func(t *T) {
		eachReading(t, isSkillFile, func(t *T, r reading) {
			r.wantBytes(t)
			mime, _ := r.content["mimeType"].(string)
			kind, _, _ := strings.Cut(strings.ToLower(mime), ";")
			t.Expect(strings.TrimSpace(kind)).To(BeOneOf("text/markdown"), "mimeType")
		})
	}),

	"skills/listed-metadata": Probe(func(t *T) {
		var all []listedFile
		for _, s := range allSkills(t) {
			for _, resource := range t.Server.Resources {
				if resource["uri"] == s.entry["uri"] {
					all = append(all, listedFile{s, resource})
				}
			}
		}
		if len(all) == 0 {
			t.Because(NotOffered).Skip("resources/list has no SKILL.md")
		}
		Each(t, all, listedFile.subject, func(t *T, f listedFile) {
			for _, name := range []string{"name", "description"} {
				t.Expect(Member(f.resource, name)).To(BeOneOf(f.skill.frontmatter()[name]), "%s", name)
			}
		})
	}),

	"skills/unserved-file-refused": Probe(func(t *T) {
		s := allSkills(t)[0]
		r := kit.AskAmiss(t, t.Session(), "resources/read", M{"uri": s.root(t) + "/mcpcheck-no-such-file.md"})
		if code, _ := r.Code(); kit.IsRetired(code) {
			t.Yield("%d is of earlier revisions", code)
		}
		t.Expect(r).To(BeError(-32602))
	}),
}

// listedFile is a SKILL.md in resources/list.
type listedFile struct {
	skill    skill
	resource M
}

func (f listedFile) subject() Subject {
	return Subject{Name: f.skill.subject().Name, Value: f.resource}
}

// reading is a file of a skill, and what came of reading it.
type reading struct {
	skill   skill
	uri     string
	file    M // of the entry; nil when it does not list it
	reply   driver.Reply
	content M // nil: there is none
}

// readings are the SKILL.md of the first skills of the list, and some of their other files. What does not fit its entry
// is read again, with the entry as it is now: the skill may have changed.
func readings(t *T) []reading {
	return Step(t, "files of skills", func(t *T) (all []reading) {
		skills := allSkills(t)
		for _, s := range skills[:min(len(skills), mostSkills)] {
			uri, _ := s.entry["uri"].(string)
			if !strings.HasSuffix(uri, skillFile) {
				continue
			}
			all = append(all, s.read(t, uri))
			n := 0
			for _, other := range s.uris() {
				if other != uri && n < mostReads && number(s.file(other)["size"]) <= longest {
					all = append(all, s.read(t, other))
					n++
				}
			}
		}
		return all
	})
}

// read reads a file.
func (s skill) read(t *T, uri string) reading {
	r := s.readOnce(t, uri)
	if r.fits() {
		return r
	}
	own, _ := s.entry["uri"].(string)
	if now, isObject := ask(t, get, own).Result()["skill"].(M); isObject && now["uri"] == own {
		return skill{now}.readOnce(t, uri)
	}
	return r
}

func (s skill) readOnce(t *T, uri string) reading {
	r := reading{skill: s, uri: uri, file: s.file(uri), reply: t.Ask(t.Session(), "resources/read", M{"uri": uri})}
	contents := kit.ObjectsIn(r.reply.Result()["contents"])
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

// bytes are those of the file.
func (r reading) bytes() (raw []byte, ok bool) {
	if text, isText := r.content["text"].(string); isText {
		return []byte(text), true
	}
	blob, isBlob := r.content["blob"].(string)
	raw, err := base64.StdEncoding.DecodeString(blob)
	return raw, isBlob && err == nil
}

// fits reports whether the file is as its entry says, or there is nothing to say so.
func (r reading) fits() bool {
	raw, ok := r.bytes()
	digest, _ := r.file["digest"].(string)
	sum := sha256.Sum256(raw)
	return !ok || digest == "" || digest == "sha256:"+hex.EncodeToString(sum[:])
}

// wantBytes are those of the file, for a check that cannot do without.
func (r reading) wantBytes(t *T) []byte {
	raw, ok := r.bytes()
	if !ok {
		t.Yield("it cannot be read")
	}
	return raw
}

func isSkillFile(r reading) bool { return r.uri == r.skill.entry["uri"] }

func isOther(r reading) bool { return !isSkillFile(r) }

// isListed reports whether the entry lists the file.
func isListed(r reading) bool { return r.file != nil }

func (r reading) subject() Subject {
	return Subject{Name: r.uri, Frames: []*driver.Frame{r.reply.Request, r.reply.Frame}}
}

// eachReading tries a check on the files that are of a kind.
func eachReading(t *T, kind func(reading) bool, run func(*T, reading)) {
	var all []reading
	for _, r := range readings(t) {
		if kind(r) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		t.Because(NotOffered).Skip("no skill has such a file")
	}
	Each(t, all, reading.subject, run)
}
