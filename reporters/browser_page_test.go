//go:build unix

package reporters

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// paged writes a report as a page, with a catalogue.
func paged(r harness.Report) writer {
	return func(w io.Writer, _ harness.Report) error {
		return HTML(w, r, Options{Rules: func(id string) (*harness.Requirement, bool) {
			entry := &harness.Requirement{
				ID: id, Statement: "Servers MUST do what this sentence says.",
				Checklist: id == "lifecycle/requests-gated",
			}
			return entry, true
		}})
	}
}

const shownRows = `[...document.querySelectorAll(".req")].filter(r => r.checkVisibility()).length`

// firstRows are the ids of the rows above the filters.
const firstRows = `[...document.querySelectorAll(".req")].filter(r => r.checkVisibility() && ` +
	`r.getBoundingClientRect().top < document.getElementById("controls").getBoundingClientRect().top)` +
	`.map(r => r.id).join(" ")`

// press is a click on a button for a verdict.
const press = `document.querySelector('.outcome.%s').click()`

// change gives a field a value, as a reader would.
const change = `(f => { f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})) })` +
	`(document.getElementById(%q))`

func TestPageInABrowser(t *testing.T) {
	b := startBrowser(t)
	b.attach()

	t.Run("filters", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, paged(everything())), "")
		b.want(`document.querySelector("h1").textContent`, "mcpcheck itself failed")
		b.want(shownRows, 7)                     // what is in trouble
		b.want(firstRows, strings.Join([]string{ // what blocks before all else, whatever its area
			"lifecycle/requests-gated", "tools/unknown-tool-code", "tools/input-schema-valid",
			"stdio/stdout-only-messages", "robust/deep-nesting",
		}, " "))
		b.eval(fmt.Sprintf(press, "gating"), nil)
		b.want(shownRows, 4) // these alone
		b.eval(fmt.Sprintf(press, "gating"), nil)
		b.want(shownRows, 16)
		b.eval(fmt.Sprintf(press, "gating"), nil)
		b.eval(`document.querySelector('.outcome.skip').dispatchEvent(new MouseEvent("click", {ctrlKey: true}))`, nil)
		b.want(shownRows, 6)
		b.eval(`document.getElementById("everything").click()`, nil)
		b.want(shownRows, 16)
		b.eval(fmt.Sprintf(press, "skip"), nil)
		b.want(shownRows, 2)
		b.want(`document.querySelector(".outcome.skip").getAttribute("aria-pressed")`, "true")
		b.eval(fmt.Sprintf(press, "skip"), nil)
		for _, c := range []struct {
			field, value string
			shown        int
		}{
			{"area", "tools", 7}, {"level", "SHOULD", 3},
			{"search", "boolean nowhere", 0}, {"search", "UNKNOWN tool", 1},
		} {
			b.eval(fmt.Sprintf(change, c.value, c.field), nil)
			b.want(shownRows, c.shown)
			b.want(`document.getElementById("shown").textContent`, fmt.Sprintf("%d of 16 requirements", c.shown))
			b.eval(`document.getElementById("everything").click()`, nil)
		}
		b.quiet()
	})

	t.Run("revisions", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, paged(twice())), "2025-06-18:tools/name-characters")
		b.want(`document.activeElement.parentNode.id`, "tools/name-characters") // it is there in one revision only
		b.eval(fmt.Sprintf(change, "2025-11-25", "revision"), nil)
		b.eval(`location.hash = "2025-06-18:tools/unknown-tool-code"`, nil)
		b.want(`new Promise(r => setTimeout(() => r(document.activeElement.parentNode.id)))`,
			"2025-06-18:tools/unknown-tool-code")
		b.want(`document.getElementById("2025-06-18:tools/unknown-tool-code").open`, true)
		b.quiet()
	})

	t.Run("not tested", func(t *testing.T) {
		b.t = t
		r := everything() // of a server that wants a token, little could be tried
		r.ExitCode, r.Problem = harness.ExitUntestable, "the server wants authorization"
		for i := range r.Revisions {
			r.Revisions[i].Assumed = true
		}
		for _, r := range []harness.Report{r, untestable()} {
			b.open(pageFile(t, paged(r)), "")
			b.want(shownRows, 0)
			b.want(`document.querySelectorAll(".profiles .passes").length`, 0)
			b.want(`document.querySelector(".profiles .says").textContent`, "nothing was tested")
			b.want(`document.getElementById("none").checkVisibility()`, true)
			b.want(`document.getElementById("controls").checkVisibility()`, false)
			b.want(`/\d+ (passed|not decided|tried)/.test(document.body.innerText)`, false)
			b.quiet()
		}
	})

	t.Run("details", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, paged(everything())), "jsonrpc/id-echoed") // a pass, which is not shown at first
		row := `document.getElementById("jsonrpc/id-echoed")`
		b.want(row+`.open && `+row+`.checkVisibility()`, true)
		b.want(row+`.querySelector("blockquote").textContent`, "Servers MUST do what this sentence says.")
		b.want(row+`.querySelectorAll(".line").length`, 2)
		b.want(row+`.querySelector(".received strong").textContent`, "result to ping  #1")
		b.want(row+`.querySelector(".json")`, "<nil>")
		b.eval(row+`.querySelector(".message summary").click()`, nil)
		b.want(`new Promise(r => setTimeout(() => r(`+row+`.querySelector(".json-string").textContent)))`, `"2.0"`)
		b.quiet()
	})

	t.Run("keyboard", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, paged(everything())), "")
		b.press("/", "/")
		b.want(`document.activeElement.id`, "search")
		b.press("ArrowDown", "")
		b.want(`document.activeElement.parentNode.id`, "lifecycle/requests-gated")
		b.press("ArrowDown", "")
		b.want(`document.activeElement.parentNode.id`, "tools/unknown-tool-code")
		b.press("Enter", "\r")
		b.want(`document.activeElement.parentNode.open`, true)
		b.press("End", "")
		b.want(`document.activeElement.parentNode.id`, "tools/name-characters")
		b.press("Escape", "")
		b.want(shownRows, 16)
		b.eval(`document.getElementById("theme").focus()`, nil)
		for _, scheme := range []string{"dark", "light"} {
			b.press("Enter", "\r")
			b.want(`getComputedStyle(document.documentElement).colorScheme`, scheme)
		}
		b.eval(`localStorage.clear()`, nil) // pages of other tests are to follow the system again
		b.quiet()
	})

	t.Run("hostile", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, paged(planted())), "")
		b.want(`document.title.includes("<img")`, true)
		b.eval(`showEverything(); document.getElementById("open").click(); `+
			`document.querySelectorAll("details").forEach(open => open.build && (open.build(), open.open = true))`, nil)
		b.want(`document.querySelectorAll("img, svg, iframe, b.x, main script").length`, 0)
		b.want(`[...document.querySelectorAll("a")].every(a => /^(https:|#)/.test(a.getAttribute("href")))`, true)
		b.want(`typeof window.pwned`, "undefined")
		b.want(`document.querySelector(".line").textContent.includes("</script><img")`, true)
		b.quiet()
	})

	t.Run("fleet", func(t *testing.T) {
		b.t = t
		fleetInABrowser(t, b)
	})

	t.Run("looks", func(t *testing.T) {
		b.t = t
		looks(t, b)
		printed(t, b)
	})
}

// looks judges pages in both schemes and on a small screen: by axe-core where it is, and that nothing is wider than the
// screen.
func looks(t *testing.T, b *browser) {
	var axe []byte
	if dir := os.Getenv("MCPCHECK_NODE_MODULES"); dir != "" {
		var err error
		if axe, err = os.ReadFile(fetched(t, "axe-core/axe.min.js")); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("contrast and labels are not judged: MCPCHECK_NODE_MODULES is not set; .ci/browser fetches axe-core")
	}
	long := everything()
	long.Revisions[0].Set = &harness.SetInfo{Name: "2025-11-25@devel", Digest: "sha256:" + strings.Repeat("0d", 32)}
	long.Server.Name = strings.Repeat("a-long-name", 9)
	for name, write := range map[string]writer{
		"report": paged(everything()), "long": paged(long), "revisions": paged(twice()),
		"fleet": fleetPaged(t, mixedFleet()...),
	} {
		path := pageFile(t, write)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{1200, 360} {
				look := fmt.Sprintf("%s-%s-%d", name, scheme, width)
				b.do("Emulation.setEmulatedMedia",
					m{"features": []m{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
				b.do("Emulation.setDeviceMetricsOverride",
					m{"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": false}, nil)
				b.open(path, "tools/unknown-tool-code")
				b.eval(`scrollTo(0, 0)`, nil)
				b.eval(`document.querySelectorAll("footer details").forEach(d => d.open = true)`, nil)
				b.want(`isDark()`, scheme == "dark")
				b.screenshot(look)
				b.want(`document.documentElement.scrollWidth <= innerWidth`, true)
				if axe != nil {
					accessible(t, b, look, string(axe))
				}
			}
		}
	}
}

// printed keeps a picture of a page as it is printed, and sees that what gates is printed in full.
func printed(t *testing.T, b *browser) {
	b.do("Emulation.setDeviceMetricsOverride",
		m{"width": 794, "height": 1600, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.open(pageFile(t, paged(everything())), "")
	b.do("Emulation.setEmulatedMedia", m{"media": "print"}, nil)
	b.eval(`dispatchEvent(new Event("beforeprint"))`, nil)
	b.screenshot("print")
	b.want(`document.querySelectorAll(".req[open] .wire").length`, 3)
	b.want(`document.getElementById("controls").checkVisibility()`, false)
	b.eval(`dispatchEvent(new Event("afterprint"))`, nil)
	b.want(`document.querySelectorAll(".req[open]").length`, 0)
	b.do("Emulation.setEmulatedMedia", m{"media": ""}, nil)
}

// accessible lets axe-core judge the page as it stands.
func accessible(t *testing.T, b *browser, look, axe string) {
	b.eval(`showEverything()`, nil)
	b.eval(axe+"; 0", nil)
	var found []string
	b.eval(`axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html + " " +`+
		` n.failureSummary).join("; ")))`, &found)
	if len(found) > 0 {
		t.Errorf("%s: axe-core finds\n%s", look, strings.Join(found, "\n"))
	}
}

// planted is a report with markup in every field that a server controls.
func planted() harness.Report {
	const markup = `</script><img src=x onerror="window.pwned=1"><b class=x><svg onload=pwned=1>{{.}}<!--`
	const address = `javascript:window.pwned=1`
	r := malicious()
	r.Server = harness.ServerInfo{Name: markup, Version: markup, Undiscovered: markup, Capabilities: []string{markup}}
	r.Problem, r.Target.Command = markup, []string{markup}
	for i := range r.Results {
		x := &r.Results[i]
		x.ID, x.Message, x.Note, x.Spec, x.Fix = fmt.Sprintf("tools/x-%d", i), markup, markup, address, markup
		x.Subjects, x.ProvokedBy = []string{markup}, []string{markup}
		x.Asked = []harness.Ask{{By: markup, Source: address}}
		x.Findings = []harness.Finding{{Subject: markup, Want: markup, Got: markup}}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%[1]q,"params":{%[1]q:[%[1]q,{"__proto__":%[1]q}]}}`,
			markup)
		x.Wire = []harness.Line{
			{Direction: harness.Sent, Text: text, HTTP: markup}, {Direction: harness.Received, Text: markup},
			{Direction: harness.Received, Text: `{"id":1,"error":{"code":{"a":1},"message":["` + "<img>" + `"]}}`},
			{Direction: harness.Happened, Text: markup, Stderr: []string{markup}},
		}
	}
	return r
}

// A page of 725 requirements in five revisions opens in well under a second, since only its rows are built then. How
// long its thread works is logged: a machine that does much else takes longer.
func TestLargePageOpensAtOnce(t *testing.T) {
	b := startBrowser(t)
	b.attach()
	r := everything()
	r.Results, r.Revisions = nil, nil
	for _, revision := range harness.Revisions {
		r.Revisions = append(r.Revisions, harness.RevisionInfo{Requested: revision, Revision: revision})
	}
	for i := range 725 {
		for _, revision := range harness.Revisions {
			x := []harness.Result{passed("", "passes"), gatingMust(), checklistOnly(), passed("", "passes")}[i%4]
			x.ID, x.Revision = fmt.Sprintf("area-%d/check-%d", i/20, i), revision
			r.Results = append(r.Results, x)
		}
	}
	path := pageFile(t, paged(judged(r)))
	b.open(path, "")
	b.eval(`new Promise(r => requestAnimationFrame(() => setTimeout(r)))`, nil) // until it is painted
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	seconds := b.spent()
	t.Logf("%d results, %d KiB: opened in %.3f s of its thread", len(r.Results), info.Size()>>10, seconds)
	var elements int
	b.eval(`document.querySelectorAll('*').length`, &elements)
	t.Logf("%d elements", elements)
	if most := 8 * len(r.Results); elements > most {
		t.Errorf("it opens with %d elements, want %d at most: what nobody has opened is not built", elements, most)
	}
	b.eval(`showEverything()`, nil)
	b.want(shownRows, 725)
	b.quiet()
}
