//go:build unix

package reporters

import (
	"fmt"
	"io"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// fleetPageWriter returns a function that writes the page of many servers.
func fleetPageWriter(t *testing.T, rows ...FleetRow) reportWriter {
	f, tally := newFleet(t, rows...)
	return func(w io.Writer, _ report.Report) error { return FleetHTML(w, f, tally) }
}

// checkFleetPage filters and searches the page of many servers, makes it show more rows, and checks that markup stays
// text.
func checkFleetPage(t *testing.T, b *browser) {
	const shown = `document.querySelectorAll("#servers tr").length`
	const markup = `</script><img src=x onerror="window.pwned=1">`
	rows := mixedRows()
	rows = append(rows, FleetRow{Name: markup, Judged: true, ExitCode: 1, Problem: markup, Server: markup})
	for i := range 300 {
		rows = append(rows, FleetRow{Name: fmt.Sprintf("server-%03d", i), Judged: true})
	}
	b.open(pageFile(t, fleetPageWriter(t, rows...)), "")
	b.expect(`document.querySelector("h1").textContent`, "2 of 306 servers do not conform, "+
		"1 was too much for mcpcheck, 1 could not be tested, 1 is not judged yet")
	b.expect(shown, 200)
	b.expect(`document.getElementById("shown").textContent`, "306 of 306 servers, the first 200 here")
	b.eval(`document.getElementById("more").click()`, nil)
	b.expect(shown, 306)
	b.expect(`document.getElementById("more").checkVisibility()`, false)
	b.eval(fmt.Sprintf(clickOnVerdict, "fails"), nil)
	b.expect(shown, 2)
	b.eval(`document.getElementById("everything").click()`, nil)
	b.eval(fmt.Sprintf(inputIntoField, "no such", "search"), nil)
	b.expect(shown, 1)
	b.expect(`document.querySelector("#servers th").textContent`, "gone")
	b.press("Escape", "")
	b.expect(`(a => a.value = [...a.options].find(o => o.text === "tools").value)(document.getElementById("area")) && `+
		`(document.getElementById("area").dispatchEvent(new Event("input", {bubbles: true})), `+shown+`)`, 1)
	b.expect(`document.querySelector("#servers a").getAttribute("href")`, "servers/faulty/report.html")
	b.expect(`document.querySelectorAll("img").length`, 0)
	b.expect(`typeof window.pwned`, "undefined")
	b.eval(fmt.Sprintf(inputIntoField, "nothing like this", "search"), nil)
	b.expect(`document.getElementById("nothing").checkVisibility()`, true)
	b.checkQuiet()
}
