package toolcall

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Upstream is an HTTP server of mcpcheck on loopback, to which tools are sent that take a URL.
type Upstream struct {
	// URL is that of a document which the server has.
	URL string

	server   *http.Server
	mu       sync.Mutex
	requests []*UpstreamRequest
	// released is closed when requests are answered.
	released chan struct{}
}

// UpstreamRequest is a request that came from the server under test.
type UpstreamRequest struct {
	// Text is the request as it was received, with at most maxUpstreamBody bytes of its body.
	Text string
	// ended is closed when the server under test has closed the connection, or has its answer.
	ended chan struct{}
}

const maxUpstreamBody = 64 << 10

// NewUpstream starts an Upstream, which leaves requests unanswered until Release. The caller closes it.
func NewUpstream(t *check.T) *Upstream {
	listener := check.Listen(t)
	u := &Upstream{
		URL:      fmt.Sprintf("http://%s/mcpcheck-%d", listener.Addr(), uint64(t.Seed)),
		released: make(chan struct{}),
	}
	u.server = &http.Server{Handler: u}
	go u.server.Serve(listener)
	return u
}

// Close ends all connections.
func (u *Upstream) Close() { u.server.Close() }

// Release answers all requests, also those that come later.
func (u *Upstream) Release() { close(u.released) }

// ServeHTTP records a request, and answers it once it is released.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpstreamBody)
	dumped, _ := httputil.DumpRequest(r, true) // of a longer body, the head is left
	request := &UpstreamRequest{Text: string(dumped), ended: make(chan struct{})}
	defer close(request.ended)
	u.mu.Lock()
	u.requests = append(u.requests, request)
	u.mu.Unlock()
	select {
	case <-u.released:
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte("a document of mcpcheck\n"))
	case <-r.Context().Done():
	}
}

// Requests returns the requests so far.
func (u *Upstream) Requests() []*UpstreamRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
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

// await waits for another request than the first n, for as long as a call may take. It returns nil if the call
// has ended without one, or if none comes.
func (u *Upstream) await(s *driver.Session, p driver.Pending, n int) *UpstreamRequest {
	for end := time.Now().Add(s.ReplyTimeout()); ; {
		hasEnded := !invalid.IsTimeout(s.AwaitFor(p, timing.ConditionPoll))
		if all := u.Requests(); len(all) > n {
			return all[n]
		}
		if hasEnded || !s.IsUsable() || time.Now().After(end) {
			return nil
		}
	}
}

// maxURLTools is how many tools are sent to an Upstream.
const maxURLTools = 5

// Call calls tools with the URL until one of them sends a request, and ends the check if none does.
func (u *Upstream) Call(t *check.T, s *driver.Session) (call ToolCall, request *UpstreamRequest) {
	var uncalled []Uncalled
	tried := 0
	for _, tool := range ToolsInCallOrder(t) {
		if tried == maxURLTools || len(urlProperties(tool)) == 0 {
			continue
		}
		arguments, not := u.arguments(t, tool)
		if not != nil {
			uncalled = append(uncalled, *not)
			continue
		}
		tried++
		call = ToolCall{Tool: tool, Arguments: arguments, Session: s}
		if call.Pending, request = u.Repeat(s, call); request != nil {
			return call, request
		}
		s.Cancel(call.Pending, "mcpcheck waits no longer")
	}
	if tried > 0 {
		t.Skip(check.NotObserved, "no tool that was given the URL of a document on this machine has requested it")
	}
	SkipNotObserved(t, "tool takes a URL", uncalled, AnyTool)
	return call, nil
}

// Repeat makes a call again, and waits for its request; nil if there is none.
func (u *Upstream) Repeat(s *driver.Session, call ToolCall) (driver.Pending, *UpstreamRequest) {
	n := len(u.Requests())
	p := call.Repeat(s, nil)
	return p, u.await(s, p, n)
}

// arguments returns valid arguments of a tool with the URL for one of its properties; not says why there are none.
func (u *Upstream) arguments(t *check.T, tool check.Subject) (arguments check.M, not *Uncalled) {
	valid, not := ArgumentsToVary(t, tool)
	if not != nil {
		return nil, not
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil, &Uncalled{Tool: tool, Detail: err.Error()}
	}
	for _, name := range urlProperties(tool) {
		arguments := maps.Clone(valid)
		arguments[name] = u.URL
		if schema.Validate(arguments) == nil {
			return arguments, nil
		}
	}
	return nil, &Uncalled{Tool: tool, Detail: "its schema does not allow the URL of a document on this machine"}
}

// urlName is the name of a property that holds a URL.
var urlName = regexp.MustCompile(`^(url|uri|href|link|endpoint)$|_(url|uri)$|[a-z](Url|URL|Uri|URI)$`)

// urlProperties returns the properties of a tool's arguments that hold a URL by their format or name: first those that
// are required.
func urlProperties(tool check.Subject) (names []string) {
	input, _ := tool.Value["inputSchema"].(check.M)
	properties, _ := input["properties"].(check.M)
	required, _ := input["required"].([]any)
	for name, property := range properties {
		described, _ := property.(check.M)
		if described["type"] == "string" && (described["format"] == "uri" || urlName.MatchString(name)) {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if slices.Contains(required, any(name)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return names
}
