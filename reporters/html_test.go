package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// withoutAssets returns a page without its style, its scripts and their hashes, so that golden files contain only what
// differs. It returns other formats unchanged.
func withoutAssets(page []byte) []byte {
	for _, text := range []string{pageStyle, commonScript, pageEvidence, pageScript} {
		page = bytes.ReplaceAll(page, []byte(text), nil)
	}
	return regexp.MustCompile(`&#39;sha256-.+?&#39;`).ReplaceAll(page, []byte("HASH"))
}

// parsePage parses a page as a browser does, and returns its elements by name and its two blocks.
func parsePage(t *testing.T, r report.Report) (
	elements map[string][]*html.Node, index []json.RawMessage, details []string,
) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(render(t, Formats[formatIndex("html")].Write, r)))
	if err != nil {
		t.Fatal(err)
	}
	elements = map[string][]*html.Node{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			elements[n.Data] = append(elements[n.Data], n)
		}
	}
	scripts := elements["script"]
	if want := 2 + len(pageScripts); len(scripts) != want {
		t.Fatalf("want two blocks and the scripts, %d in all, got %d", want, len(scripts))
	}
	if err := json.Unmarshal([]byte(scripts[0].FirstChild.Data), &index); err != nil {
		t.Fatal(err)
	}
	return elements, index, strings.Split(strings.TrimSpace(scripts[1].FirstChild.Data), "\n")
}

func formatIndex(name string) int {
	for i, f := range Formats {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// TestHTMLIsWhatTheTemplateSays checks that the page has only the elements and attributes of the template, whatever a
// server sends, that every result is in the index, and that its details are on the line that the index says.
func TestHTMLIsWhatTheTemplateSays(t *testing.T) {
	known := regexp.MustCompile(`<([a-z0-9]+)`).FindAllStringSubmatch(pageText, -1)
	allowed := map[string]bool{"noscript": true}
	for _, name := range known {
		allowed[name[1]] = true
	}
	for name, r := range allSampleReports() {
		t.Run(name, func(t *testing.T) {
			elements, index, details := parsePage(t, r)
			for element, nodes := range elements {
				if !allowed[element] {
					t.Errorf("the template has no %s", element)
				}
				for _, n := range nodes {
					for _, a := range n.Attr {
						if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" {
							t.Errorf("%s has the attribute %s", element, a.Key)
						}
					}
				}
			}
			n := 0
			for _, text := range index[1:] {
				var q pageRequirement
				if err := json.Unmarshal(text, &q); err != nil {
					t.Fatal(err)
				}
				for _, x := range q.Results {
					var d pageDetail
					if err := json.Unmarshal([]byte(details[x.DetailIndex]), &d); err != nil || d.Level == "" {
						t.Errorf("%s: details %q, %v", q.ID, details[x.DetailIndex], err)
					}
					n++
				}
			}
			if want := len(withoutHiddenAdvice(r).Results); n != want {
				t.Errorf("%d results in the index, want %d", n, want)
			}
		})
	}
}

// TestHTMLIsSelfContained checks that a page makes no request: it names no file, and its policy allows only its own
// scripts and style.
func TestHTMLIsSelfContained(t *testing.T) {
	elements, _, _ := parsePage(t, fullReport())
	var policy string
	for _, meta := range elements["meta"] {
		if meta.Attr[0].Val == "Content-Security-Policy" {
			policy = meta.Attr[1].Val
		}
	}
	for _, script := range elements["script"][2:] {
		if want := sourceHash(script.FirstChild.Data); !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	if want := sourceHash(elements["style"][0].FirstChild.Data); !strings.Contains(policy, want) {
		t.Errorf("the policy lacks %s", want)
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
	for _, text := range []string{pageStyle, commonScript, pageEvidence, pageScript} {
		for _, bad := range []string{"url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML",
			"document.write", "fetch(", "XMLHttpRequest", "eval(", "</"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page has %s", bad)
			}
		}
	}
}

// TestHTMLShowsOtherProfiles checks that the page shows for other profiles what a run with them would.
func TestHTMLShowsOtherProfiles(t *testing.T) {
	rules := func(id string) (*catalogue.Requirement, bool) {
		q := &catalogue.Requirement{ID: id, Checklist: id == "lifecycle/requests-gated"}
		if id == "tools/name-characters" {
			q.DirectoryRules = []catalogue.DirectoryRule{{ID: "claude/x", Directory: "a directory"}}
		}
		return q, true
	}
	got := map[string]string{}
	for _, p := range pageProfiles(fullReport(), Options{FindRequirement: rules}) {
		got[p.Name] = fmt.Sprint(p.Summary, p.Selected, p.Passes)
	}
	want := map[string]string{
		"release": "4 blockingtrue false", "spec": "3 blockingfalse false",
		"strict": "7 blockingfalse false", "directory": "1 blockingfalse false",
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: want %s, got %s", name, want[name], got[name])
		}
	}
}

// TestPageProfilesOfSDKs checks that failures of an SDK block under the profile strict, and under the others if the
// operator says so.
func TestPageProfilesOfSDKs(t *testing.T) {
	for sdk, want := range map[string]string{"": "nothing blocks", "gate": "1 blocking"} {
		r := excusedReport()
		r.Profile, r.Options = catalogue.Release, &report.OptionsInfo{SDK: sdk}
		profiles := pageProfiles(r, Options{})
		if spec, strict := profiles[1].Summary, profiles[2].Summary; spec != want || strict != "5 blocking" {
			t.Errorf("--sdk %q: spec says %q, strict %q", sdk, spec, strict)
		}
	}
}
