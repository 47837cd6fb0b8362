//go:build unix

package reporters

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// pageWriter returns a function that writes a report as a page, with a catalogue.
func pageWriter(r report.Report) reportWriter {
	return func(w io.Writer, _ report.Report) error {
		return HTML(w, r, Options{FindRequirement: func(id string) (*catalogue.Requirement, bool) {
			entry := &catalogue.Requirement{
				ID: id, Statement: "Servers MUST do what this sentence says.",
				Checklist: id == "lifecycle/requests-gated",
			}
			return entry, true
		}})
	}
}

const shownRows = `[...document.querySelectorAll(".req")].filter(r => r.checkVisibility()).length`

// firstRows evaluates to the ids of the rows above the filters.
const firstRows = `[...document.querySelectorAll(".req")].filter(r => r.checkVisibility() && ` +
	`r.getBoundingClientRect().top < document.getElementById("controls").getBoundingClientRect().top)` +
	`.map(r => r.id).join(" ")`

// clickOnVerdict clicks on the button of a verdict.
const clickOnVerdict = `document.querySelector('.outcome.%s').click()`

// inputIntoField gives a field a value, as a reader would.
const inputIntoField = `(f => { f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})) })` +
	`(document.getElementById(%q))`

func TestPageInABrowser(t *testing.T) {
	b := startBrowser(t)
	b.attach()

	t.Run("filters", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, pageWriter(fullReport())), "")
		b.expect(`document.querySelector("h1").textContent`, "mcpcheck itself failed")
		b.expect(shownRows, 7)                     // what needs attention
		b.expect(firstRows, strings.Join([]string{ // what blocks first, whatever its area
			"lifecycle/requests-gated", "tools/unknown-tool-code", "tools/input-schema-valid",
			"stdio/stdout-only-messages", "robust/deep-nesting",
		}, " "))
		b.eval(fmt.Sprintf(clickOnVerdict, "gating"), nil)
		b.expect(shownRows, 4) // only these
		b.eval(fmt.Sprintf(clickOnVerdict, "gating"), nil)
		b.expect(shownRows, 16)
		b.eval(fmt.Sprintf(clickOnVerdict, "gating"), nil)
		b.eval(`document.querySelector('.outcome.skip').dispatchEvent(new MouseEvent("click", {ctrlKey: true}))`, nil)
		b.expect(shownRows, 6)
		b.eval(`document.getElementById("everything").click()`, nil)
		b.expect(shownRows, 16)
		b.eval(fmt.Sprintf(clickOnVerdict, "skip"), nil)
		b.expect(shownRows, 2)
		b.expect(`document.querySelector(".outcome.skip").getAttribute("aria-pressed")`, "true")
		b.eval(fmt.Sprintf(clickOnVerdict, "skip"), nil)
		for _, c := range []struct {
			field, value string
			shown        int
		}{
			{"area", "tools", 7}, {"level", "SHOULD", 3},
			{"search", "boolean nowhere", 0}, {"search", "UNKNOWN tool", 1},
		} {
			b.eval(fmt.Sprintf(inputIntoField, c.value, c.field), nil)
			b.expect(shownRows, c.shown)
			b.expect(`document.getElementById("shown").textContent`, fmt.Sprintf("%d of 16 requirements", c.shown))
			b.eval(`document.getElementById("everything").click()`, nil)
		}
		b.checkQuiet()
	})

	t.Run("revisions", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, pageWriter(interruptedReport())), "2025-06-18:tools/name-characters")
		b.expect(`document.activeElement.parentNode.id`, "tools/name-characters") // It exists in one revision only.
		b.eval(fmt.Sprintf(inputIntoField, "2025-11-25", "revision"), nil)
		b.eval(`location.hash = "2025-06-18:tools/unknown-tool-code"`, nil)
		b.expect(`new Promise(r => setTimeout(() => r(document.activeElement.parentNode.id)))`,
			"2025-06-18:tools/unknown-tool-code")
		b.expect(`document.getElementById("2025-06-18:tools/unknown-tool-code").open`, true)
		b.checkQuiet()
	})

	t.Run("not tested", func(t *testing.T) {
		b.t = t
		r := fullReport() // Without a token, little could be tested.
		r.ExitCode, r.Problem = report.ExitUntestable, "the server wants authorization"
		for i := range r.Revisions {
			r.Revisions[i].Assumed = true
		}
		for _, r := range []report.Report{r, untestableReport()} {
			b.open(pageFile(t, pageWriter(r)), "")
			b.expect(shownRows, 0)
			b.expect(`document.querySelectorAll(".profiles .passes").length`, 0)
			b.expect(`document.querySelector(".profiles .says").textContent`, "nothing was tested")
			b.expect(`document.getElementById("none").checkVisibility()`, true)
			b.expect(`document.getElementById("controls").checkVisibility()`, false)
			b.expect(`/\d+ (passed|not decided|tried)/.test(document.body.innerText)`, false)
			b.checkQuiet()
		}
	})

	t.Run("details", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, pageWriter(fullReport())), "jsonrpc/id-echoed") // a pass, which is not shown at first
		row := `document.getElementById("jsonrpc/id-echoed")`
		b.expect(row+`.open && `+row+`.checkVisibility()`, true)
		b.expect(row+`.querySelector("blockquote").textContent`, "Servers MUST do what this sentence says.")
		b.expect(row+`.querySelectorAll(".line").length`, 2)
		b.expect(row+`.querySelector(".received strong").textContent`, "result to ping  #1")
		b.expect(row+`.querySelector(".json")`, "<nil>")
		b.eval(row+`.querySelector(".message summary").click()`, nil)
		b.expect(`new Promise(r => setTimeout(() => r(`+row+`.querySelector(".json-string").textContent)))`, `"2.0"`)
		b.checkQuiet()
	})

	t.Run("keyboard", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, pageWriter(fullReport())), "")
		b.press("/", "/")
		b.expect(`document.activeElement.id`, "search")
		b.press("ArrowDown", "")
		b.expect(`document.activeElement.parentNode.id`, "lifecycle/requests-gated")
		b.press("ArrowDown", "")
		b.expect(`document.activeElement.parentNode.id`, "tools/unknown-tool-code")
		b.press("Enter", "\r")
		b.expect(`document.activeElement.parentNode.open`, true)
		b.press("End", "")
		b.expect(`document.activeElement.parentNode.id`, "tools/name-characters")
		b.press("Escape", "")
		b.expect(shownRows, 16)
		b.eval(`document.getElementById("theme").focus()`, nil)
		for _, scheme := range []string{"dark", "light"} {
			b.press("Enter", "\r")
			b.expect(`getComputedStyle(document.documentElement).colorScheme`, scheme)
		}
		b.eval(`localStorage.clear()`, nil) // The pages of other tests follow the system's colour scheme again.
		b.checkQuiet()
	})

	t.Run("hostile", func(t *testing.T) {
		b.t = t
		b.open(pageFile(t, pageWriter(reportWithMarkup())), "")
		b.expect(`document.title.includes("<img")`, true)
		b.eval(`showEverything(); document.getElementById("open").click(); `+
			`document.querySelectorAll("details").forEach(open => open.build && (open.build(), open.open = true))`, nil)
		b.expect(`document.querySelectorAll("img, svg, iframe, b.x, main script").length`, 0)
		b.expect(`[...document.querySelectorAll("a")].every(a => /^(https:|#)/.test(a.getAttribute("href")))`, true)
		b.expect(`typeof window.pwned`, "undefined")
		b.expect(`document.querySelector(".line").textContent.includes("</script><img")`, true)
		b.checkQuiet()
	})

	t.Run("fleet", func(t *testing.T) {
		b.t = t
		checkFleetPage(t, b)
	})

	t.Run("looks", func(t *testing.T) {
		b.t = t
		checkAppearance(t, b)
		checkPrint(t, b)
	})
}

// checkAppearance checks pages in both colour schemes and on a small screen: with axe-core if it is available, and that
// nothing is wider than the screen.
func checkAppearance(t *testing.T, b *browser) {
	var axe []byte
	if dir := os.Getenv("MCPCHECK_NODE_MODULES"); dir != "" {
		var err error
		if axe, err = os.ReadFile(npmFile(t, "axe-core/axe.min.js")); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("contrast and labels are not judged: MCPCHECK_NODE_MODULES is not set; .ci/browser fetches axe-core")
	}
	long := fullReport()
	long.Revisions[0].Set = &catalogue.SetInfo{Name: "2025-11-25@devel", Digest: "sha256:" + strings.Repeat("0d", 32)}
	long.Server.Name = strings.Repeat("a-long-name", 9)
	for name, write := range map[string]reportWriter{
		"report": pageWriter(fullReport()), "long": pageWriter(long), "revisions": pageWriter(interruptedReport()),
		"fleet": fleetPageWriter(t, mixedRows()...),
	} {
		path := pageFile(t, write)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{1200, 360} {
				look := fmt.Sprintf("%s-%s-%d", name, scheme, width)
				b.call("Emulation.setEmulatedMedia",
					m{"features": []m{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
				b.call("Emulation.setDeviceMetricsOverride",
					m{"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": false}, nil)
				b.open(path, "tools/unknown-tool-code")
				b.eval(`scrollTo(0, 0)`, nil)
				b.eval(`document.querySelectorAll("footer details").forEach(d => d.open = true)`, nil)
				b.expect(`isDark()`, scheme == "dark")
				b.screenshot(look)
				b.expect(`document.documentElement.scrollWidth <= innerWidth`, true)
				if axe != nil {
					checkAccessibility(t, b, look, string(axe))
				}
			}
		}
	}
}

// checkPrint takes a picture of the printed page, and checks that blocking findings are printed in full.
func checkPrint(t *testing.T, b *browser) {
	b.call("Emulation.setDeviceMetricsOverride",
		m{"width": 794, "height": 1600, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.open(pageFile(t, pageWriter(fullReport())), "")
	b.call("Emulation.setEmulatedMedia", m{"media": "print"}, nil)
	b.eval(`dispatchEvent(new Event("beforeprint"))`, nil)
	b.screenshot("print")
	b.expect(`document.querySelectorAll(".req[open] .wire").length`, 3)
	b.expect(`document.getElementById("controls").checkVisibility()`, false)
	b.eval(`dispatchEvent(new Event("afterprint"))`, nil)
	b.expect(`document.querySelectorAll(".req[open]").length`, 0)
	b.call("Emulation.setEmulatedMedia", m{"media": ""}, nil)
}

// checkAccessibility checks the current state of the page with axe-core.
func checkAccessibility(t *testing.T, b *browser, look, axe string) {
	b.eval(`showEverything()`, nil)
	b.eval(axe+"; 0", nil)
	var found []string
	b.eval(`axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html + " " +`+
		` n.failureSummary).join("; ")))`, &found)
	if len(found) > 0 {
		t.Errorf("%s: axe-core finds\n%s", look, strings.Join(found, "\n"))
	}
}

// reportWithMarkup returns a report with markup in every field that a server controls.
func reportWithMarkup() report.Report {
	const markup = `</script><img src=x onerror="window.pwned=1"><b class=x><svg onload=pwned=1>{{.}}<!--`
	const address = `javascript:window.pwned=1`
	r := maliciousReport()
	r.Server = report.ServerInfo{Name: markup, Version: markup, DiscoverError: markup, Capabilities: []string{markup}}
	r.Problem, r.Target.Command = markup, []string{markup}
	for i := range r.Results {
		x := &r.Results[i]
		x.ID, x.Message, x.Note, x.Spec, x.Fix = fmt.Sprintf("tools/x-%d", i), markup, markup, address, markup
		x.Subjects, x.TriggeredBy = []string{markup}, []string{markup}
		x.DirectoryRules = []catalogue.DirectoryRule{{ID: markup, Directory: markup, Source: address, Date: markup}}
		x.Findings = []report.Finding{{Subject: markup, Want: markup, Got: markup}}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%[1]q,"params":{%[1]q:[%[1]q,{"__proto__":%[1]q}]}}`,
			markup)
		x.Evidence = []report.Line{
			{Direction: report.Sent, Text: text, HTTP: markup}, {Direction: report.Received, Text: markup},
			{Direction: report.Received, Text: `{"id":1,"error":{"code":{"a":1},"message":["` + "<img>" + `"]}}`},
			{Direction: report.Event, Text: markup, Stderr: []string{markup}},
		}
	}
	return r
}

// TestLargePageOpensAtOnce opens a page of 725 requirements in five revisions. It takes well under a second, because
// only the rows are built then. The time is logged and not checked, because it depends on the load of the machine.
func TestLargePageOpensAtOnce(t *testing.T) {
	b := startBrowser(t)
	b.attach()
	r := fullReport()
	r.Results, r.Revisions = nil, nil
	for _, revision := range catalogue.Revisions {
		r.Revisions = append(r.Revisions, report.RevisionInfo{Requested: revision, Revision: revision})
	}
	for i := range 725 {
		for _, revision := range catalogue.Revisions {
			x := []report.Result{passed("", "passes"), gatingMust(), checklistOnly(), passed("", "passes")}[i%4]
			x.ID, x.Revision = fmt.Sprintf("area-%d/check-%d", i/20, i), revision
			r.Results = append(r.Results, x)
		}
	}
	path := pageFile(t, pageWriter(withDerivedFields(r)))
	b.open(path, "")
	b.eval(`new Promise(r => requestAnimationFrame(() => setTimeout(r)))`, nil) // until it is painted
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	seconds := b.threadSeconds()
	t.Logf("%d results, %d KiB: opened in %.3f s of its thread", len(r.Results), info.Size()>>10, seconds)
	var elements int
	b.eval(`document.querySelectorAll('*').length`, &elements)
	t.Logf("%d elements", elements)
	if most := 8 * len(r.Results); elements > most {
		t.Errorf("it opens with %d elements, want %d at most: what nobody has opened is not built", elements, most)
	}
	b.eval(`showEverything()`, nil)
	b.expect(shownRows, 725)
	b.checkQuiet()
}
