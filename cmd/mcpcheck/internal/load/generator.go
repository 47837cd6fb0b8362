package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// generator sends the requests of a workload by several clients.
type generator struct {
	Options
	w        *Workload
	revision string
	// rec has the figures of the current step, and found what was wrong in any of them.
	rec   *recorder
	found *foundList
	// cancellations counts requests that clients sent after a cancelled one.
	cancellations atomic.Int64
	// next is the number of the next request at a constant rate.
	next atomic.Int64
	// stop ends the load before its time, with the reason.
	stop context.CancelCauseFunc
}

// errBehind ends a load at whose end requests are due that nobody could send yet.
var errBehind = errors.New("the server did not keep up: not all requests that were due could be sent in time")

// run connects the clients, and lets them send until the end of the duration. The error is why it ended before.
func (g *generator) run(ctx context.Context, clients []*client) error {
	if err := g.connect(ctx, clients); err != nil {
		return err
	}
	bound := time.AfterFunc(g.Warmup+g.Duration+2*g.Timeout, func() { g.stop(errBehind) })
	defer bound.Stop()
	g.next.Store(0)
	begin := time.Now()
	g.rec.start = begin.Add(g.Warmup)
	g.rec.end = g.rec.start.Add(g.Duration)
	var running sync.WaitGroup
	for i, c := range clients {
		running.Go(func() {
			sleepUntil(ctx, begin.Add(g.Ramp*time.Duration(i)/time.Duration(len(clients))))
			g.sendAll(ctx, c, begin)
		})
	}
	running.Wait()
	for _, c := range clients {
		running.Go(c.conn.close)
	}
	running.Wait()
	return context.Cause(ctx)
}

// connect begins the sessions of all clients, as many at a time as there are clients.
func (g *generator) connect(ctx context.Context, clients []*client) error {
	if len(clients[0].connects) == 0 {
		return nil
	}
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() {
			begin := time.Now()
			err := c.connect(ctx, g.Timeout)
			if g.rec.connect.add(time.Since(begin), err); err != nil {
				g.stop(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// sendAll sends requests of a client until the end. At a constant rate, each request is due at its time whether or not
// a client is free then, and its latency counts from that time: a slow server can't slow down the load.
func (g *generator) sendAll(ctx context.Context, c *client, begin time.Time) {
	random := rand.New(rand.NewPCG(uint64(g.Seed), uint64(c.number)))
	for ctx.Err() == nil {
		due := time.Now()
		if g.PerSecond > 0 {
			due = begin.Add(time.Duration(float64(g.next.Add(1)-1) / g.PerSecond * float64(time.Second)))
		}
		if !due.Before(g.rec.end) {
			return
		}
		sleepUntil(ctx, due)
		late := max(0, time.Since(due))
		q := g.w.draw(random.Float64())
		took, wrong, err := c.send(ctx, q, g.revision, g.Timeout)
		if err != nil && ctx.Err() != nil {
			return
		}
		if g.PerSecond > 0 {
			took += late
		}
		if refused := (*refusedError)(nil); errors.As(err, &refused) && !g.IgnoreRefusals {
			g.stop(fmt.Errorf("%s: %w", q, refused))
			return
		}
		g.rec.add(q, due, took, wrong, err, c.hasCancelled)
		g.cancelSome(ctx, c, random)
		if ended := endedError(""); errors.As(err, &ended) {
			g.stop(err)
		}
	}
}

// cancelSome lets a client cancel a call after some of its requests.
func (g *generator) cancelSome(ctx context.Context, c *client, random *rand.Rand) {
	if c.hasCancelled {
		g.cancellations.Add(1)
	}
	every, calls := g.cancelEvery(), g.w.of("tools/call")
	c.sent++
	c.hasCancelled = every > 0 && len(calls) > 0 && (c.sent-1)%every == 0 &&
		c.cancel(ctx, calls[random.IntN(len(calls))], g.Timeout) == nil
}

// draw returns a request by its weight; x is from 0 to 1.
func (w *Workload) draw(x float64) *request {
	sum := 0.0
	for _, r := range w.requests {
		sum += r.weight
	}
	x *= sum
	for _, r := range w.requests {
		if x -= r.weight; x < 0 {
			return r
		}
	}
	return w.requests[len(w.requests)-1]
}

func sleepUntil(ctx context.Context, at time.Time) {
	d := time.Until(at)
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
