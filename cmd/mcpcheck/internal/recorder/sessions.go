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

// httpSessions tells the sessions apart that pass by over HTTP: by the id that the server has issued, over HTTP+SSE by
// the endpoint that it has named. What has neither is of one session, until a client begins anew or uses an id again.
type httpSessions struct {
	path   string // of the URL that is recorded
	writer *traceWriter

	mu             sync.Mutex
	secrets        redact.Secrets
	initialSecrets int                     // how many of them are given at the beginning
	byID           map[string]*httpSession // by the id
	byEndpoint     map[string]*httpSession // by path and query
	keys           []string                // of the keys of both, for the oldest to be forgotten
	withoutID      *httpSession            // without an id
	roundTrips     int
	otherPath      string // path of the first request that was for another one
}

// httpSession is one session.
type httpSession struct {
	*sessionLog
	isSSE      bool            // over HTTP+SSE
	roundTrips int             // that were begun
	requestIDs map[string]bool // ids of requests, of the one without an id of its own
}

// Bounds of what is remembered of those who pass by.
const (
	maxSessions       = 1000
	maxRequestIDs     = 100_000
	maxLearnedSecrets = 32 // secrets
)

const sessionIDHeader = "Mcp-Session-Id"

func newHTTPSessions(u *url.URL, s *traceWriter, hidden redact.Secrets) *httpSessions {
	return &httpSessions{
		path: cmp.Or(u.EscapedPath(), "/"), writer: s, secrets: hidden, initialSecrets: len(hidden.Texts),
		byID: map[string]*httpSession{}, byEndpoint: map[string]*httpSession{},
	}
}

// beginRoundTrip begins a request that is recorded; nil where it is not one of the protocol's.
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

// notRecordedReason says why nothing was recorded, if requests came that were not for the URL; empty otherwise.
func (w *httpSessions) notRecordedReason() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.roundTrips > 0 || w.otherPath == "" {
		return ""
	}
	return fmt.Sprintf("nothing was recorded: no request was for %s, but some for %s; is that the path of the server?",
		w.path, w.otherPath)
}

// addSecrets has secrets redacted that a request carries.
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

// findSession is the session of a request that has a body; nil where only the answer tells.
func (w *httpSessions) findSession(t *roundTrip, posted driver.PostInfo) *httpSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := t.header.Get(sessionIDHeader)
	switch {
	case id != "" && w.byID[id] != nil:
		return w.byID[id]
	case id != "":
		return w.addSession(w.byID, id, w.openResumedSession())
	case posted.IsInitialize:
		w.withoutID = w.openSession("http")
		return w.withoutID.addRequestIDs(posted.RequestIDs)
	case t.method == http.MethodGet:
		return nil // it may be the stream of HTTP+SSE
	}
	return w.sessionWithoutID(posted.RequestIDs)
}

// sessionWithoutID is the session without an id, for requests of these ids. The caller holds mu.
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

// openResumedSession is a session that began before it was recorded, which cannot be judged.
func (w *httpSessions) openResumedSession() *httpSession {
	const why = "the session began before it was recorded"
	s := w.openSession("http")
	s.add(driver.TraceLine{Side: driver.SessionEvent, Text: []byte(why), AfterGap: true})
	return s
}

// hasRequestID reports whether the session has used one of the ids, or too many of them.
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

// addSession keeps a session under a key. Of very many the oldest is forgotten. The caller holds mu.
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

// setSessionID gives a session the id that the server has issued.
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

// nextNumber is that of the next trip in the session.
func (w *httpSessions) nextNumber(s *httpSession) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.roundTrips++
	return s.roundTrips
}

// streamSession is the session of a stream that was opened without an id: one of its own over HTTP+SSE, whose first
// event names the endpoint, relative to where the stream is.
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
