package load

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g := &generator{Options: o, w: w, revision: server.Revision, stop: stop, found: &foundList{}}
	out = report.Load{Kind: report.LoadKind, Clients: o.Clients, PerSecond: o.PerSecond, Revision: server.Revision,
		Started: time.Now()}
	for i, clients := range o.steps() {
		s, err := g.step(ctx, t, clients)
		if err != nil && i == 0 {
			return out, err
		}
		if err == nil {
			s.describe(&out, server.ConnectMethod())
			err = s.ended
		}
		if o.Scale {
			out.Scale = append(out.Scale, report.LoadStep{Clients: clients, All: out.All})
		}
		if err != nil {
			out.Problem = err.Error()
			break
		}
	}
	out.Knee = report.KneeOf(out.Scale)
	if out.Results = g.results(out); out.Problem == "" && counted(out) == 0 {
		out.Problem = errNoneCounted.Error()
	}
	return out, nil
}

// steps are the numbers of clients of one load after the other: 1, 2, 4, 8 … and at last all.
func (o Options) steps() (all []int) {
	for n := 1; o.Scale && n < o.Clients; n *= 2 {
		all = append(all, n)
	}
	return append(all, o.Clients)
}

// step is a load by a number of clients.
type step struct {
	clients, processes int
	rec                *recorder
	passed             time.Duration
	used               *report.LoadProcess
	// own is the CPU time of mcpcheck itself while requests were counted.
	own time.Duration
	// ended is why it has ended before its time; nil if it has not.
	ended error
}

// step loads the server by a number of clients. An error means that there was no load.
func (g *generator) step(ctx context.Context, t driver.Target, clients int) (s step, err error) {
	g.rec = newRecorder(g.w, g.found)
	all, processes, err := g.open(ctx, t, clients)
	if err != nil {
		return s, err
	}
	before := usageOfSite(t.Site)
	s = step{clients: clients, processes: len(processes), rec: g.rec}
	begin, own := time.Now(), ownCPU()
	s.ended = g.run(ctx, all)
	s.passed = g.rec.passed(s.ended != nil)
	s.own = time.Duration(float64(ownCPU()-own) * min(1, s.passed.Seconds()/time.Since(begin).Seconds()))
	if t.Site != nil {
		s.used = addUsage(nil, usageOfSite(t.Site).since(before))
	}
	for _, p := range processes {
		s.used = addUsage(s.used, usageOf(p.process.Close()))
	}
	return s, nil
}

// describe puts the figures of the step into a report.
func (s step) describe(out *report.Load, connect string) {
	out.Processes, out.Process, out.Seconds = s.processes, s.used, s.passed.Seconds()
	out.Connect = s.rec.connect.figures(connect, s.passed)
	out.All = s.rec.all.figures("all", s.passed)
	if out.All.Count > 0 {
		out.OwnMicroseconds = float64(s.own.Microseconds()) / float64(out.All.Count)
	}
	out.Methods = nil
	for _, method := range slices.Sorted(maps.Keys(s.rec.methods)) {
		out.Methods = append(out.Methods, s.rec.methods[method].figures(method, s.passed))
	}
}

// open makes the clients: sessions over HTTP or, over stdio, the clients of processes.
func (g *generator) open(ctx context.Context, t driver.Target, number int) (
	clients []*client, all []*processConnection, err error,
) {
	if t.Site != nil {
		shared := t.Site.NewClient(2 * number) // a stream that is read to its end keeps its connection
		for n := range number {
			c := httpConnection{
				client: shared, limit: g.MaxMessageBytes, cancelled: g.w.cancelled(), refusing: newRefusals(),
			}
			var conn connection = newSSEConnection(t.Site, c, g.noteStray)
			if t.Site.Transport() != "sse" {
				c.url = t.Site.URL()
				conn = &c
			}
			clients = append(clients, &client{number: n, conn: conn, connects: g.w.connect})
		}
		return clients, nil, nil
	}
	for n := range min(max(1, g.Processes), number) {
		p, err := driver.StartRaw(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		c := newProcessConnection(p, g.MaxMessageBytes, g.noteStray)
		all = append(all, c)
		first := &client{conn: c, connects: g.w.connect, lastID: int64(number+n) * idsPerClient}
		begin := time.Now()
		if err := first.connect(ctx, startTimeout); err != nil {
			return nil, nil, err
		}
		if len(g.w.connect) > 0 {
			g.rec.connect.add(time.Since(begin), nil)
		}
	}
	for n := range number {
		clients = append(clients, &client{number: n, conn: all[n%len(all)], lastID: int64(n) * idsPerClient})
	}
	return clients, all, nil
}

// noteStray notes a response that nobody waits for.
func (g *generator) noteStray(raw []byte) {
	g.found.note(finding{Matched, "a response to no request: " + driver.Brief(raw)})
}

// addUsage adds what a process has used.
func addUsage(sum *report.LoadProcess, u usage) *report.LoadProcess {
	if u.maxResident == 0 { // the system does not tell, or the process has ended meanwhile
		return sum
	}
	if sum == nil {
		sum = &report.LoadProcess{}
	}
	sum.Megabytes += float64(u.maxResident) / (1 << 20)
	sum.CPUSeconds += u.cpu.Seconds()
	sum.AfterMegabytes += float64(u.resident) / (1 << 20)
	return sum
}

// errNoneCounted says that a load has no figures, although nothing has ended it.
var errNoneCounted = errors.New("no request was counted: none was sent after --warmup and within --duration")

// counted is how many requests have come to a response or an error.
func counted(l report.Load) int64 { return l.All.Count + l.All.ErrorCount() }

// results are the results of a load: what was found, and the budgets that the operator has set. Where no request was
// counted, it is only what was found.
func (g *generator) results(l report.Load) (all []report.LoadResult) {
	if counted(l) == 0 {
		return g.found.all()
	}
	if l.All.ErrorShare() <= g.Budgets.Errors {
		g.found.forget(Answered)
		g.found.forget(AfterCancel)
	}
	names := []string{Answered, Matched, Valid, SameKind}
	if slices.ContainsFunc(g.w.requests, (*request).isMarked) {
		names = append(names, OwnSession)
	}
	if g.cancellations.Load() > 0 {
		names = append(names, AfterCancel)
	}
	for _, name := range names {
		r := g.found.result(name)
		if name == SameKind && g.w.changesState {
			r.Name += ListsOnly
		}
		all = append(all, r)
	}
	all = append(all, budgetResults(g.Budgets, "", l.All)...)
	for _, f := range l.Methods {
		all = append(all, budgetResults(g.Methods[f.Method], f.Method+": ", f)...)
	}
	return all
}
