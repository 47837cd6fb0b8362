package recorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// httpSessions assigns requests to sessions: by the session id that the server issued or, over HTTP+SSE, by the
// endpoint that it named. All requests without either belong to one session, until a client initializes again or reuses
// a request id.
type httpSessions struct {
	// path is the path of the URL that is recorded.
	path   string
	writer *traceWriter

	mu      sync.Mutex
	secrets redact.Secrets
	// initialSecrets is how many of the secrets were given at the start.
	initialSecrets int
	// byID are the sessions by their ids.
	byID map[string]*httpSession
	// byEndpoint are the sessions by path and query of their endpoints.
	byEndpoint map[string]*httpSession
	// keys are the keys of both maps, oldest first, so that the oldest session can be removed.
	keys []string
	// withoutID is the current session without an id.
	withoutID  *httpSession
	roundTrips int
	// otherPath is the path of the first request for another path than that of the URL.
	otherPath string
}

// httpSession is one session over HTTP.
type httpSession struct {
	*sessionLog
	// isSSE says that the transport is HTTP+SSE.
	isSSE bool
	// roundTrips is how many round trips have begun.
	roundTrips int
	// requestIDs are the JSON-RPC ids of requests, for a session without an id.
	requestIDs map[string]bool
}

// These limits bound the memory that clients of the proxy can use.
const (
	maxSessions       = 1000
	maxRequestIDs     = 100_000
	maxLearnedSecrets = 32 // secrets learned from requests
)

const sessionIDHeader = "Mcp-Session-Id"

func newHTTPSessions(u *url.URL, s *traceWriter, hidden redact.Secrets) *httpSessions {
	return &httpSessions{
		path: cmp.Or(u.EscapedPath(), "/"), writer: s, secrets: hidden, initialSecrets: len(hidden.Texts),
		byID: map[string]*httpSession{}, byEndpoint: map[string]*httpSession{},
	}
}

// beginRoundTrip begins the record of a request; it returns nil for a request that is not for the MCP endpoint.
func (w *httpSessions) beginRoundTrip(r *http.Request) *roundTrip {
	w.mu.Lock()
	endpoint, path := w.byEndpoint[r.URL.RequestURI()], r.URL.EscapedPath()
	passed := endpoint == nil && path != w.path
	if w.roundTrips++; passed {
		w.roundTrips--
		w.otherPath = cmp.Or(w.otherPath, path)
	}
	w.mu.Unlock()
	if passed {
		return nil
	}
	w.addSecrets(r)
	return &roundTrip{sessions: w, method: r.Method, path: r.URL.RequestURI(), header: r.Header.Clone(),
		session: endpoint}
}

// notRecordedReason says why nothing was recorded although requests arrived; it is empty when there is no reason.
func (w *httpSessions) notRecordedReason() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.roundTrips > 0 || w.otherPath == "" {
		return ""
	}
	return fmt.Sprintf("nothing was recorded: no request was for %s, but some for %s; is that the path of the server?",
		w.path, w.otherPath)
}

// addSecrets has the secrets that a request carries redacted.
func (w *httpSessions) addSecrets(r *http.Request) {
	var found redact.Secrets
	for name, values := range r.Header {
		if name != sessionIDHeader && (redact.SecretNamePattern.MatchString(name) || name == "Cookie" ||
			name == "Proxy-Authorization") {
			for _, value := range values {
				found.AddWords(value)
			}
		}
	}
	for name, values := range r.URL.Query() {
		if redact.SecretNamePattern.MatchString(name) {
			for _, value := range values {
				found.Add(value)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	isKnown := func(content string) bool { return slices.Contains(w.secrets.Texts, content) }
	if found.Texts = slices.DeleteFunc(found.Texts, isKnown); len(found.Texts) == 0 {
		return
	}
	learnt := append(slices.Clone(w.secrets.Texts[w.initialSecrets:]), found.Texts...)
	learnt = learnt[max(0, len(learnt)-maxLearnedSecrets):]
	w.secrets.Texts = append(slices.Clone(w.secrets.Texts[:w.initialSecrets]), learnt...)
	w.writer.setSecrets(redact.Secrets{Texts: w.secrets.Texts})
}

// findSession returns the session of a request with a body; nil means that only the response tells it.
func (w *httpSessions) findSession(t *roundTrip, posted postInfo) *httpSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := t.header.Get(sessionIDHeader)
	switch {
	case id != "" && w.byID[id] != nil:
		return w.byID[id]
	case id != "":
		return w.addSession(w.byID, id, w.openResumedSession())
	case posted.isInitialize:
		w.withoutID = w.openSession("http")
		return w.withoutID.addRequestIDs(posted.requestIDs)
	case t.method == http.MethodGet:
		return nil // it may open the stream of HTTP+SSE
	}
	return w.sessionWithoutID(posted.requestIDs)
}

// sessionWithoutID returns the session without an id for a request with these JSON-RPC ids. The caller holds mu.
func (w *httpSessions) sessionWithoutID(ids []json.RawMessage) *httpSession {
	if w.withoutID == nil || w.withoutID.hasRequestID(ids) {
		w.withoutID = w.openSession("http")
	}
	return w.withoutID.addRequestIDs(ids)
}

func (w *httpSessions) openSession(transport string) *httpSession {
	return &httpSession{
		sessionLog: w.writer.openSession(transport), isSSE: transport == "sse", requestIDs: map[string]bool{},
	}
}

// openResumedSession returns a session that began before the recording, which cannot be judged.
func (w *httpSessions) openResumedSession() *httpSession {
	const why = "the session began before it was recorded"
	s := w.openSession("http")
	s.add(driver.TraceLine{Side: driver.SessionEvent, Text: []byte(why), AfterGap: true})
	return s
}

// hasRequestID reports whether the session has used one of the ids, or too many ids to tell.
func (s *httpSession) hasRequestID(ids []json.RawMessage) bool {
	return len(s.requestIDs) > maxRequestIDs ||
		slices.ContainsFunc(ids, func(id json.RawMessage) bool { return s.requestIDs[driver.IDKey(id)] })
}

func (s *httpSession) addRequestIDs(ids []json.RawMessage) *httpSession {
	for _, id := range ids {
		s.requestIDs[driver.IDKey(id)] = true
	}
	return s
}

// addSession stores a session under a key, and removes the oldest session beyond the limit. The caller holds mu.
func (w *httpSessions) addSession(in map[string]*httpSession, key string, s *httpSession) *httpSession {
	if in[key] == nil {
		w.keys = append(w.keys, key)
	}
	in[key] = s
	if len(w.keys) > maxSessions {
		delete(w.byID, w.keys[0])
		delete(w.byEndpoint, w.keys[0])
		w.keys = w.keys[1:]
	}
	return s
}

// setSessionID stores the id that the server issued for a session.
func (w *httpSessions) setSessionID(id string, s *httpSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID[id] == nil {
		w.addSession(w.byID, id, s)
	}
	if w.withoutID == s {
		w.withoutID = nil
	}
}

// nextNumber returns the number of the next round trip in a session.
func (w *httpSessions) nextNumber(s *httpSession) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.roundTrips++
	return s.roundTrips
}

// streamSession returns the session of a stream that was opened without a session id: over HTTP+SSE a new one, whose
// first event names the endpoint, relative to the URL of the stream.
func (w *httpSessions) streamSession(at, endpoint string) *httpSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	if endpoint == "" {
		return w.sessionWithoutID(nil)
	}
	s := w.openSession("sse")
	base, err := url.Parse(at)
	if err != nil {
		return s
	}
	if u, err := base.Parse(endpoint); err == nil {
		w.addSession(w.byEndpoint, u.RequestURI(), s)
	}
	return s
}
