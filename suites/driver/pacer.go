package driver

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// pacer bounds the rate of the requests to a site. It waits where something in front of the server says how long (429
// or 503 with Retry-After: RFC 6585, section 4; RFC 9110, sections 10.2.3 and 15.6.4), and sends slowly enough
// afterwards that it need not say so again. The zero value has no bound.
type pacer struct {
	mu sync.Mutex
	// limiter is nil as long as there is no bound.
	limiter *rate.Limiter
	// pausedUntil is the end of the pause that the last refusal asked for.
	pausedUntil time.Time
	// since is when requests began to be counted: at first, and each time that the rate was set. sent is their number.
	since time.Time
	sent  int
	// raised means that the rate is higher than the one that was granted, fixed that it is not to be raised.
	raised, fixed bool
	info          RateInfo
}

// RateInfo says how the rate of requests to a site is bounded: by the operator, or by what is in front of the server.
type RateInfo struct {
	// Refusals is the number of requests that were refused for their rate, and sent again.
	Refusals int
	// Waited is how long these asked to wait, in sum.
	Waited time.Duration
	// PerSecond is the highest rate of requests by now; 0 if there is no bound.
	PerSecond float64
}

// bound sets the highest rate, in requests a second; 0 means no bound.
func (p *pacer) bound(perSecond float64) {
	if perSecond > 0 {
		p.setRate(perSecond)
		p.fixed = true
	}
}

// setRate sets the rate of the requests from now on, in requests a second.
func (p *pacer) setRate(perSecond float64) {
	p.info.PerSecond, p.limiter, p.sent = perSecond, rate.NewLimiter(rate.Limit(perSecond), 1), 0
}

// RateInfo says how the rate of requests to the site is bounded.
func (site *Site) RateInfo() RateInfo {
	site.pacer.mu.Lock()
	defer site.pacer.mu.Unlock()
	return site.pacer.info
}

// await waits until the next request may be sent, or the context is done.
func (p *pacer) await(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		pause, limiter := time.Until(p.pausedUntil), p.limiter
		if pause <= 0 && limiter == nil {
			p.count()
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if pause > 0 {
			sleep(ctx, pause)
			continue
		}
		if limiter.Wait(ctx) != nil {
			return
		}
		p.mu.Lock()
		same := limiter == p.limiter
		if same {
			p.count()
		}
		p.mu.Unlock()
		if same {
			return
		}
	}
}

// count counts a request, and raises the rate after some. The caller holds the mutex.
func (p *pacer) count() {
	if p.sent == 0 {
		p.since = time.Now()
	}
	p.sent++
	if p.limiter != nil && !p.fixed && p.sent > raiseAfter {
		p.raised, p.sent, p.info.PerSecond = true, 0, raiseBy*p.info.PerSecond
		p.limiter.SetLimit(rate.Limit(p.info.PerSecond))
	}
}

// A rate that was set after a refusal is raised by a tenth after each 25 requests that are granted, since it is not
// known how many more would have been granted before. The next refusal takes the last raise back, and ends them.
const (
	raiseAfter = 25
	raiseBy    = 1.1
)

// lowestRate is the lowest rate of requests, in requests a second: what allows less can't be tested.
const lowestRate = 0.5

// minSample is how many requests tell the rate that is granted: after fewer, others may have used up what was granted
// before, and no rate is set.
const minSample = 10

// isRefused reports whether a response asks to send the request again later, and the pauses of the run allow for it.
// Then all requests wait until that time. After 429, which is about their rate, they are sent at nine tenths of the
// rate that was granted, or somewhat faster (raiseAfter); 503 says only that the server is not ready.
func (p *pacer) isRefused(resp *http.Response) bool {
	pause, ok := retryAfter(resp)
	if !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pause > timing.MaxRetryAfter || p.info.Waited+pause > timing.AllRetryAfter {
		return false
	}
	p.info.Refusals++
	now := time.Now()
	if p.pausedUntil.After(now) { // it was sent before the pause that is under way
		return true
	}
	p.info.Waited += pause
	p.pausedUntil = now.Add(pause)
	granted := p.sent - 1
	if resp.StatusCode == http.StatusTooManyRequests && (p.raised || granted >= minSample) {
		p.lowerRate(float64(granted))
	}
	return true
}

// lowerRate lowers the rate after a refusal: to what it was before it was last raised, or by the requests that were
// granted. The caller holds the mutex.
func (p *pacer) lowerRate(granted float64) {
	if p.raised {
		p.raised, p.fixed = false, true
		p.setRate(p.info.PerSecond / raiseBy)
		return
	}
	p.setRate(max(0.9*granted/p.pausedUntil.Sub(p.since).Seconds(), lowestRate))
}

// retryAfter returns how long a response asks to wait before the request is sent again.
func retryAfter(resp *http.Response) (pause time.Duration, ok bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	value := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return max(time.Duration(seconds)*time.Second, timing.MinRetryAfter), true
	}
	at, err := http.ParseTime(value)
	return max(time.Until(at), timing.MinRetryAfter), err == nil
}

// sleep waits for d, or until the context is done.
func sleep(ctx context.Context, d time.Duration) { closesWithin(ctx, nil, d) }
