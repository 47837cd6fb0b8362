package toolcall

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Upstream is an HTTP server of mcpcheck on loopback, whose URL a tool was called with.
type Upstream struct {
	// Call is the call that has sent a request to it.
	Call ToolCall

	url    string
	server *http.Server
	// running are the calls that were neither cancelled nor waited for.
	running []driver.Pending
	mu      sync.Mutex
	// requests are those for the document of the URL; others are those for what else a client looks for, such as
	// robots.txt, and are answered at once.
	requests, others []*UpstreamRequest
	// released is closed, once, when requests are answered.
	released chan struct{}
	once     sync.Once
}

// UpstreamRequest is a request that came from the server under test.
type UpstreamRequest struct {
	// Text is the request as it was received, with at most maxUpstreamBody bytes of its body.
	Text string
	// IsIndirect reports whether a proxy or a browser has sent it, which decides itself when it closes the connection.
	IsIndirect bool
	// ended is closed when the server under test has closed the connection, or has its answer.
	ended chan struct{}
}

const (
	// maxURLTools is how many tools are called with a URL until one of them sends a request.
	maxURLTools = 3
	// maxUpstreamConns is how many connections an Upstream has at a time.
	maxUpstreamConns = 10
	// maxUpstreamRequests is how many requests it keeps.
	maxUpstreamRequests = 20
	maxUpstreamHeader   = 64 << 10
	maxUpstreamBody     = 64 << 10
	upstreamPath        = "/mcpcheck-document"
)

// CallUpstream calls tools with a URL of mcpcheck until one of them sends a request there, and ends the check if none
// does. The request is left unanswered until Release. The caller closes what it gets.
func CallUpstream(t *check.T) *Upstream {
	tools, uncalled := ToolsTaking(t, AnyTool, takesURL)
	if len(tools) == 0 {
		SkipNotObserved(t, "tool takes a URL", uncalled, AnyTool)
	}
	for _, tool := range tools[:min(len(tools), maxURLTools)] {
		if u := tryUpstream(t, tool); u != nil {
			return u
		}
	}
	t.Skip(check.NotObserved, "no tool that was called with the URL of a document on this machine has requested it")
	return nil
}

// tryUpstream calls a tool with a URL of mcpcheck; nil if that sends no request there. It keeps nothing open then, nor
// where the check ends meanwhile.
func tryUpstream(t *check.T, tool check.Subject) *Upstream {
	u, came := newUpstream(check.Listen(t)), false
	defer func() {
		if !came {
			u.Close()
		}
	}()
	if came = u.call(t, tool); !came {
		return nil
	}
	return u
}

func newUpstream(listener net.Listener) *Upstream {
	u := &Upstream{url: fmt.Sprintf("http://%s%s", listener.Addr(), upstreamPath), released: make(chan struct{})}
	u.server = &http.Server{Handler: u, MaxHeaderBytes: maxUpstreamHeader, ReadHeaderTimeout: timing.UpstreamHeader}
	go u.server.Serve(netutil.LimitListener(listener, maxUpstreamConns))
	return u
}

// Close answers all requests, waits for the calls that still run, and ends all connections.
func (u *Upstream) Close() {
	u.Release()
	for _, p := range slices.Clone(u.running) {
		if !u.Call.Session.AwaitLongRunning(p).Answered() {
			u.Cancel(p, "mcpcheck waits no longer")
		}
	}
	u.server.Close()
}

// Release answers all requests, also those that come later.
func (u *Upstream) Release() { u.once.Do(func() { close(u.released) }) }

// Cancel cancels a call.
func (u *Upstream) Cancel(p driver.Pending, reason string) {
	u.running = slices.DeleteFunc(u.running, func(other driver.Pending) bool { return bytes.Equal(other.ID, p.ID) })
	u.Call.Session.Cancel(p, reason)
}

// ServeHTTP records a request, and answers it once it is released.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isDocument := r.URL.Path == upstreamPath
	r.Body = http.MaxBytesReader(w, r.Body, maxUpstreamBody)
	request, ok := u.record(r, isDocument)
	defer close(request.ended)
	switch {
	case !ok:
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case !isDocument:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	select {
	case <-u.released:
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte("a document of mcpcheck\n"))
	case <-r.Context().Done():
	}
}

// record keeps a request, unless there are too many or it is too long.
func (u *Upstream) record(r *http.Request, isDocument bool) (request *UpstreamRequest, ok bool) {
	dumped, err := httputil.DumpRequest(r, true)
	request = &UpstreamRequest{Text: string(dumped), IsIndirect: isIndirect(r.Header), ended: make(chan struct{})}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil || len(u.requests)+len(u.others) >= maxUpstreamRequests {
		return request, false
	}
	if isDocument {
		u.requests = append(u.requests, request)
	} else {
		u.others = append(u.others, request)
	}
	return request, true
}

// isIndirect reports whether the header is one that a proxy or a browser has written.
func isIndirect(header http.Header) bool {
	return slices.ContainsFunc([]string{"Via", "Forwarded", "X-Forwarded-For", "Sec-Fetch-Dest"},
		func(name string) bool { return header.Get(name) != "" })
}

// Requests returns the requests for the document so far.
func (u *Upstream) Requests() []*UpstreamRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// AllRequests returns Requests and the requests for anything else.
func (u *Upstream) AllRequests() []*UpstreamRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Concat(u.requests, u.others)
}

// AwaitEnd waits until the server under test has closed the connection, and reports whether it did so within d.
func (r *UpstreamRequest) AwaitEnd(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.ended:
		return true
	case <-timer.C:
		return false
	}
}

// AwaitEnds is AwaitEnd of several requests.
func AwaitEnds(requests []*UpstreamRequest, d time.Duration) bool {
	end := time.Now().Add(d)
	return !slices.ContainsFunc(requests, func(r *UpstreamRequest) bool { return !r.AwaitEnd(time.Until(end)) })
}

// call calls a tool with the URL, and reports whether it has sent a request.
func (u *Upstream) call(t *check.T, tool check.Subject) bool {
	s := t.Session()
	arguments := ArgumentsWith(t, tool, takesURL, u.url)
	if arguments == nil {
		return false
	}
	u.Call = ToolCall{Tool: tool, Arguments: arguments, Session: s}
	var came bool
	if u.Call.Pending, came = u.Repeat(); !came {
		u.Cancel(u.Call.Pending, "mcpcheck waits no longer")
	}
	return came
}

// Repeat makes the call again, and waits for a request for as long as a call may take. It reports whether one has come
// before the call has ended.
func (u *Upstream) Repeat() (p driver.Pending, came bool) {
	s, n := u.Call.Session, len(u.Requests())
	p = u.Call.Repeat(s, nil)
	u.running = append(u.running, p)
	for end := time.Now().Add(s.ReplyTimeout()); ; {
		hasEnded := !invalid.IsTimeout(s.AwaitFor(p, timing.ConditionPoll))
		if len(u.Requests()) > n {
			return p, true
		}
		if hasEnded || !s.IsUsable() || time.Now().After(end) {
			return p, false
		}
	}
}

// urlName is the name of a property that may hold a URL. It only chooses what is tried.
var urlName = regexp.MustCompile(`^(url|uri|href|link|endpoint)$|_(url|uri)$|[a-z](Url|URL|Uri|URI)$`)

// takesURL reports whether a property may hold a URL by its format or name.
func takesURL(name string, property check.M) bool {
	return property["format"] == "uri" || urlName.MatchString(name)
}
