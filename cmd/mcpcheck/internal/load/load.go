package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// endTimeout is how long the end of a session may take.
const endTimeout = 5 * time.Second

// startTimeout is how long a process may take until it has answered its first request.
const startTimeout = 30 * time.Second

// Run loads the server of a target. The session is one in which discovery has found the server; it is used for the
// quiet requests, and is open afterwards. An error means that there was no load.
func Run(ctx context.Context, t driver.Target, server *check.Server, quiet *driver.Session, o Options) (
	out report.Load, err error,
) {
	w, err := prepare(quiet, server, o)
	if err != nil {
		return out, err
	}
	g := &generator{Options: o, w: w, revision: server.Revision, rec: newRecorder(w)}
	ctx, g.stop = context.WithCancelCause(ctx)
	defer g.stop(nil)
	clients, processes, err := g.open(ctx, t)
	if err != nil {
		return out, err
	}
	ended := g.run(ctx, clients)
	passed := g.rec.passed(ended != nil)
	out = report.Load{
		Clients: o.Clients, Processes: len(processes), PerSecond: o.PerSecond, Revision: server.Revision,
		Connect: g.rec.connect.figures(server.ConnectMethod(), passed),
		All:     g.rec.all.figures("all", passed), Seconds: passed.Seconds(),
	}
	for _, method := range slices.Sorted(maps.Keys(g.rec.methods)) {
		out.Methods = append(out.Methods, g.rec.methods[method].figures(method, passed))
	}
	if ended != nil {
		out.Problem = ended.Error()
	}
	for _, p := range processes {
		if stray := p.firstStray(); stray != nil {
			g.rec.note(finding{Matched, "a response to no request: " + driver.Brief(stray)})
		}
		out.Process = addUsage(out.Process, p.process.Close())
	}
	out.Results = g.results(out)
	return out, nil
}

// open makes the clients: sessions over HTTP or, over stdio, the clients of processes.
func (g *generator) open(ctx context.Context, t driver.Target) (
	clients []*client, all []*processConnection, err error,
) {
	if t.Site != nil {
		shared := t.Site.NewClient(g.Clients)
		for n := range g.Clients {
			c := &httpConnection{client: shared, url: t.Site.URL(), limit: g.MaxMessageBytes}
			clients = append(clients, newClient(n, c, g.w, false))
		}
		return clients, nil, nil
	}
	connect := g.w.connect
	g.w.connect = nil // a process is connected once
	for n := range min(max(1, g.Processes), g.Clients) {
		p, err := driver.StartRaw(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		c := newProcessConnection(p, g.MaxMessageBytes)
		all = append(all, c)
		first := newClient(g.Clients+n, c, &Workload{connect: connect}, true)
		begin := time.Now()
		if err := first.connect(ctx, startTimeout); err != nil {
			return nil, nil, err
		}
		if len(connect) > 0 {
			g.rec.connect.add(time.Since(begin), nil)
		}
	}
	for n := range g.Clients {
		clients = append(clients, newClient(n, all[n%len(all)], g.w, true))
	}
	return clients, all, nil
}

// addUsage adds what a process has used.
func addUsage(sum *report.LoadProcess, u driver.Usage) *report.LoadProcess {
	if u == (driver.Usage{}) {
		return sum
	}
	if sum == nil {
		sum = &report.LoadProcess{}
	}
	sum.Megabytes += float64(u.MaxResident) / (1 << 20)
	sum.CPUSeconds += u.CPU.Seconds()
	return sum
}

// results are the results of a load: what was found, and the budgets that the operator has set.
func (g *generator) results(l report.Load) (all []report.LoadResult) {
	b := g.Budgets
	share := float64(l.All.ErrorCount()) / float64(max(1, l.All.Count+l.All.ErrorCount()))
	if share <= b.Errors {
		delete(g.rec.findings, Answered)
	}
	if l.All.Count+l.All.ErrorCount() == 0 {
		return nil
	}
	for _, name := range []string{Answered, Matched, Valid, SameKind, OwnSession} {
		r := report.LoadResult{Name: name, Verdict: catalogue.Pass}
		if found := g.rec.findings[name]; found != nil {
			r.Verdict, r.Count, r.Findings = catalogue.Fail, found.count, found.first
		}
		all = append(all, r)
	}
	budget := func(name string, within bool, got string) {
		r := report.LoadResult{Name: name, Verdict: catalogue.Pass}
		if !within {
			r.Verdict, r.Count, r.Findings = catalogue.Fail, 1, []string{got}
		}
		all = append(all, r)
	}
	if b.P99 > 0 {
		budget(WithinP99, l.All.P99 <= float64(b.P99.Microseconds())/1000,
			fmt.Sprintf("%.1f ms, and %v is wanted", l.All.P99, b.P99))
	}
	if b.Throughput > 0 {
		budget(Throughput, l.All.PerSecond >= b.Throughput,
			fmt.Sprintf("%.1f requests a second, and %g are wanted", l.All.PerSecond, b.Throughput))
	}
	return all
}
