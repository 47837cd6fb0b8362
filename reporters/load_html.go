package reporters

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// LoadHTML writes the report of a load as a page that is complete in itself: it has no scripts, and its charts are SVG
// in the page.
func LoadHTML(w io.Writer, l report.Load) error {
	word, said := loadVerdict(l)
	page := loadPage{
		Policy: loadPolicy, Style: template.CSS(pageStyle + loadStyle),
		Outcome:  map[string]string{"PASS": "good", "FAIL": "bad", "STOPPED": "odd"}[word],
		Headline: sentenceCase(printableWords(said)),
		Target:   loadTarget(l), Server: printableWords(serverText(l.Server)),
		Facts: joinParts("MCP "+l.Revision, loadClients(l), fmt.Sprintf("%.3g s", l.Seconds),
			"mcpcheck "+printableWords(l.Program.Version)),
		Charts: loadCharts(l),
	}
	for _, r := range l.Results {
		shown := loadPageResult{Name: printableWords(r.Name), Passes: r.Verdict == catalogue.Pass}
		shown.Findings = mapEach(loadFindings(r), printableWords)
		page.Results = append(page.Results, shown)
	}
	for _, f := range loadRows(l) {
		page.Tables[0] = append(page.Tables[0], loadPageRow(f.Method, f.LoadFigures))
	}
	for _, s := range l.Scale {
		page.Tables[1] = append(page.Tables[1], loadPageRow(fmt.Sprint(s.Clients), s.All))
	}
	if len(l.Scale) > 0 {
		page.Knee = sentenceCase(loadKnee(l)) + "."
	}
	for _, e := range l.All.Errors {
		page.Errors = append(page.Errors, fmt.Sprintf("%s: %d", printableWords(e.Kind), e.Count))
	}
	if l.Process != nil {
		page.Process = loadProcess(l)
	}
	return loadTemplate.Execute(w, page)
}

//go:embed html/load.html
var loadText string

//go:embed html/load.css
var loadStyle string

var (
	loadTemplate = template.Must(template.New("load").Parse(loadText))
	loadPolicy   = securityPolicy(pageStyle+loadStyle, nil)
)

// loadPage is the data of the template.
type loadPage struct {
	Policy                                   string
	Style                                    template.CSS
	Outcome, Headline, Target, Server, Facts string
	Results                                  []loadPageResult
	// Tables are the figures by method, and those by the number of clients.
	Tables        [2][][]string
	Knee, Process string
	Errors        []string
	Charts        []chart
}

type loadPageResult struct {
	Name     string
	Passes   bool
	Findings []string
}

// loadPageRow returns the cells of a row of figures.
func loadPageRow(of string, f report.LoadFigures) []string {
	cells := []string{printableWords(of), fmt.Sprint(f.Count), fmt.Sprintf("%.1f", f.PerSecond)}
	for _, v := range []float64{f.P50, f.P90, f.P99, f.P999, f.Max} {
		cells = append(cells, fmt.Sprintf("%.1f", v))
	}
	return append(cells, fmt.Sprint(f.ErrorCount()))
}

// chart is a chart of lines, as the template draws it. Places are in pixels of the view box.
type chart struct {
	Title, XTitle, YTitle string
	XTicks, YTicks        []chartTick
	Lines                 []chartLine
	// Knee is the place of a vertical line; 0 for none.
	Knee float64
}

type chartTick struct {
	At   float64
	Text string
}

// chartLine is a line with its points, as SVG has them; Class is c0 for the first line.
type chartLine struct {
	Class, Name, Points string
	Marks               []chartMark
}

// chartMark is a point of a line, with what it says.
type chartMark struct {
	X, Y float64
	Text string
}

// These are the edges of a chart in its view box of 640 by 300.
const (
	chartLeft, chartRight = 60, 620
	chartTop, chartBottom = 20, 250
)

// axis returns the place of a value between two others.
func axis(v, low, high, from, to float64) float64 {
	if high <= low {
		return from
	}
	return math.Round((from+(v-low)/(high-low)*(to-from))*10) / 10
}

// loadCharts returns the distribution of latency by method and, of a scale, throughput and latency by clients.
func loadCharts(l report.Load) (all []chart) {
	if l.All.Count > 0 {
		all = append(all, latencyChart(l))
	}
	if len(l.Scale) > 1 {
		perSecond := func(f report.LoadFigures) float64 { return f.PerSecond }
		p99 := func(f report.LoadFigures) float64 { return f.P99 }
		all = append(all, scaleChart(l, "Throughput by clients", "requests a second", perSecond),
			scaleChart(l, "99th percentile by clients", "ms", p99))
	}
	return all
}

// latencyChart draws how long shares of the requests took. Both axes are logarithmic: that of the shares counts the
// requests that took longer.
func latencyChart(l report.Load) chart {
	c := chart{Title: "Latency by share of the requests", XTitle: "share of the requests", YTitle: "ms"}
	slower := func(percent float64) float64 { return -math.Log10(max(100-percent, 0.001)) }
	x := func(percent float64) float64 {
		return axis(slower(percent), slower(0), slower(99.999), chartLeft, chartRight)
	}
	low, high := math.Inf(1), 0.0
	shown := append([]report.LoadFigures{l.All}, l.Methods...)
	for _, f := range shown {
		for _, q := range f.Quantiles {
			low, high = min(low, q.Time), max(high, q.Time)
		}
	}
	bottom := math.Floor(math.Log10(max(low, 0.001)))
	top := max(math.Ceil(math.Log10(max(high, 0.001))), bottom+1)
	y := func(ms float64) float64 {
		return axis(math.Log10(max(ms, 0.001)), bottom, top, chartBottom, chartTop)
	}
	for _, percent := range []float64{50, 90, 99, 99.9, 99.99} {
		c.XTicks = append(c.XTicks, chartTick{x(percent), fmt.Sprintf("%g %%", percent)})
	}
	for e := bottom; e <= top; e++ {
		c.YTicks = append(c.YTicks, chartTick{y(math.Pow(10, e)), fmt.Sprintf("%g", math.Pow(10, e))})
	}
	for i, f := range shown[:min(len(shown), chartColors)] {
		line := chartLine{Class: fmt.Sprintf("c%d", i), Name: printableWords(f.Method)}
		var points []string
		for _, q := range f.Quantiles {
			points = append(points, fmt.Sprintf("%g,%g", x(q.Percent), y(q.Time)))
			line.Marks = append(line.Marks, chartMark{x(q.Percent), y(q.Time),
				fmt.Sprintf("%s: %g %% within %.1f ms", line.Name, q.Percent, q.Time)})
		}
		line.Points = strings.Join(points, " ")
		c.Lines = append(c.Lines, line)
	}
	return c
}

// chartColors is the number of colours, hence of lines.
const chartColors = 10

// scaleChart draws a figure by the number of clients.
func scaleChart(l report.Load, title, unit string, of func(report.LoadFigures) float64) chart {
	c := chart{Title: title, XTitle: "clients", YTitle: unit}
	last := l.Scale[len(l.Scale)-1].Clients
	x := func(clients int) float64 {
		return axis(math.Log2(float64(clients)), 0, math.Log2(float64(last)), chartLeft, chartRight)
	}
	high := 0.0
	for _, s := range l.Scale {
		high = max(high, of(s.All))
	}
	step := tickStep(high)
	top := max(step, math.Ceil(high/step)*step)
	y := func(v float64) float64 { return axis(v, 0, top, chartBottom, chartTop) }
	for v := 0.0; v <= top; v += step {
		c.YTicks = append(c.YTicks, chartTick{y(v), fmt.Sprintf("%g", v)})
	}
	line := chartLine{Class: "c0"}
	var points []string
	for _, s := range l.Scale {
		v := of(s.All)
		c.XTicks = append(c.XTicks, chartTick{x(s.Clients), fmt.Sprint(s.Clients)})
		points = append(points, fmt.Sprintf("%g,%g", x(s.Clients), y(v)))
		line.Marks = append(line.Marks, chartMark{x(s.Clients), y(v),
			fmt.Sprintf("%d clients: %.1f %s", s.Clients, v, unit)})
	}
	line.Points = strings.Join(points, " ")
	c.Lines = []chartLine{line}
	if l.Knee > 0 {
		c.Knee = x(l.Knee)
	}
	return c
}

// tickStep returns a step of 1, 2 or 5 times a power of ten, of which at most five fit below a value.
func tickStep(high float64) float64 {
	if high <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(high/5)))
	for _, n := range []float64{1, 2, 5} {
		if high/(n*power) <= 5 {
			return n * power
		}
	}
	return 10 * power
}
