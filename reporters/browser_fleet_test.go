//go:build unix

package reporters

import (
	"fmt"
	"io"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// fleetPaged writes the page of many servers.
func fleetPaged(t *testing.T, rows ...FleetRow) writer {
	f, tally := fleetOf(t, rows...)
	return func(w io.Writer, _ harness.Report) error { return FleetHTML(w, f, tally) }
}

// fleetInABrowser filters and searches the page of many servers, builds more of it, and sees that markup stays text.
func fleetInABrowser(t *testing.T, b *browser) {
	const shown = `document.querySelectorAll("#servers tr").length`
	const markup = `</script><img src=x onerror="window.pwned=1">`
	rows := mixedFleet()
	rows = append(rows, FleetRow{Name: markup, Judged: true, ExitCode: 1, Problem: markup, Server: markup})
	for i := range 300 {
		rows = append(rows, FleetRow{Name: fmt.Sprintf("server-%03d", i), Judged: true})
	}
	b.open(pageFile(t, fleetPaged(t, rows...)), "")
	b.want(`document.querySelector("h1").textContent`, "2 of 306 servers do not conform, "+
		"1 was too much for mcpcheck, 1 could not be tested, 1 is not judged yet")
	b.want(shown, 200)
	b.want(`document.getElementById("shown").textContent`, "306 of 306 servers, the first 200 here")
	b.eval(`document.getElementById("more").click()`, nil)
	b.want(shown, 306)
	b.want(`document.getElementById("more").checkVisibility()`, false)
	b.eval(fmt.Sprintf(press, "fails"), nil)
	b.want(shown, 2)
	b.eval(`document.getElementById("everything").click()`, nil)
	b.eval(fmt.Sprintf(change, "no such", "search"), nil)
	b.want(shown, 1)
	b.want(`document.querySelector("#servers th").textContent`, "gone")
	b.press("Escape", "")
	b.want(`(a => a.value = [...a.options].find(o => o.text === "tools").value)(document.getElementById("area")) && `+
		`(document.getElementById("area").dispatchEvent(new Event("input", {bubbles: true})), `+shown+`)`, 1)
	b.want(`document.querySelector("#servers a").getAttribute("href")`, "servers/faulty/report.html")
	b.want(`document.querySelectorAll("img").length`, 0)
	b.want(`typeof window.pwned`, "undefined")
	b.eval(fmt.Sprintf(change, "nothing like this", "search"), nil)
	b.want(`document.getElementById("nothing").checkVisibility()`, true)
	b.quiet()
}
