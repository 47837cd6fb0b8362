package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// webSessions tells the sessions apart that pass by over HTTP: by the id that the server has issued, over HTTP+SSE by
// the endpoint that it has named. What has neither is of one session, until a client begins anew or uses an id again.
type webSessions struct {
	path   string // of the URL that is recorded
	scribe *scribe

	mu        sync.Mutex
	hidden    secrets
	fixed     int                    // how many of them are given at the beginning
	issued    map[string]*webSession // by the id
	endpoints map[string]*webSession // by path and query
	order     []string               // of the keys of both, for the oldest to be forgotten
	loose     *webSession            // without an id
	trips     int
	other     string // path of the first request that was for another one
}

// webSession is one session.
type webSession struct {
	*minutes
	old   bool            // over HTTP+SSE
	trips int             // that were begun
	asked map[string]bool // ids of requests, of the one without an id of its own
}

// Bounds of what is remembered of those who pass by.
const (
	mostSessions = 1000
	mostAsked    = 100_000
	mostLearnt   = 32 // secrets
)

const sessionID = "Mcp-Session-Id"

func newWebSessions(u *url.URL, s *scribe, hidden secrets) *webSessions {
	return &webSessions{
		path: cmp.Or(u.EscapedPath(), "/"), scribe: s, hidden: hidden, fixed: len(hidden.texts),
		issued: map[string]*webSession{}, endpoints: map[string]*webSession{},
	}
}

// trip begins a request that is recorded; nil where it is not one of the protocol's.
func (w *webSessions) trip(r *http.Request) *trip {
	w.mu.Lock()
	endpoint, path := w.endpoints[r.URL.RequestURI()], r.URL.EscapedPath()
	passed := endpoint == nil && path != w.path
	if w.trips++; passed {
		w.trips--
		w.other = cmp.Or(w.other, path)
	}
	w.mu.Unlock()
	if passed {
		return nil
	}
	w.learn(r)
	return &trip{of: w, method: r.Method, path: r.URL.RequestURI(), header: r.Header.Clone(), session: endpoint}
}

// missed says why nothing was recorded, if requests came that were not for the URL; empty otherwise.
func (w *webSessions) missed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trips > 0 || w.other == "" {
		return ""
	}
	return fmt.Sprintf("nothing was recorded: no request was for %s, but some for %s; is that the path of the server?",
		w.path, w.other)
}

// learn has secrets redacted that a request carries.
func (w *webSessions) learn(r *http.Request) {
	var found secrets
	for name, values := range r.Header {
		if name != sessionID && (secretName.MatchString(name) || name == "Cookie" || name == "Proxy-Authorization") {
			for _, value := range values {
				found.hideWords(value)
			}
		}
	}
	for name, values := range r.URL.Query() {
		if secretName.MatchString(name) {
			for _, value := range values {
				found.hide(value)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	isKnown := func(text string) bool { return slices.Contains(w.hidden.texts, text) }
	if found.texts = slices.DeleteFunc(found.texts, isKnown); len(found.texts) == 0 {
		return
	}
	learnt := append(slices.Clone(w.hidden.texts[w.fixed:]), found.texts...)
	learnt = learnt[max(0, len(learnt)-mostLearnt):]
	w.hidden.texts = append(slices.Clone(w.hidden.texts[:w.fixed]), learnt...)
	w.scribe.hide(secrets{texts: w.hidden.texts})
}

// find is the session of a request that has a body; nil where only the answer tells.
func (w *webSessions) find(t *trip, posted driver.Posted) *webSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := t.header.Get(sessionID)
	switch {
	case id != "" && w.issued[id] != nil:
		return w.issued[id]
	case id != "":
		return w.add(w.issued, id, w.resumed())
	case posted.Initialize:
		w.loose = w.open("http")
		return w.loose.ask(posted.IDs)
	case t.method == http.MethodGet:
		return nil // it may be the stream of HTTP+SSE
	}
	return w.unnamed(posted.IDs)
}

// unnamed is the session without an id, for requests of these ids. The caller holds mu.
func (w *webSessions) unnamed(ids []json.RawMessage) *webSession {
	if w.loose == nil || w.loose.knows(ids) {
		w.loose = w.open("http")
	}
	return w.loose.ask(ids)
}

func (w *webSessions) open(transport string) *webSession {
	return &webSession{
		minutes: w.scribe.open(transport), old: transport == "sse", asked: map[string]bool{},
	}
}

// resumed is a session that began before it was recorded, which cannot be judged.
func (w *webSessions) resumed() *webSession {
	const why = "the session began before it was recorded"
	s := w.open("http")
	s.note(driver.Saying{Side: driver.Event, Text: []byte(why), Gap: true})
	return s
}

// knows reports whether the session has used one of the ids, or too many of them.
func (s *webSession) knows(ids []json.RawMessage) bool {
	return len(s.asked) > mostAsked ||
		slices.ContainsFunc(ids, func(id json.RawMessage) bool { return s.asked[driver.IDKey(id)] })
}

func (s *webSession) ask(ids []json.RawMessage) *webSession {
	for _, id := range ids {
		s.asked[driver.IDKey(id)] = true
	}
	return s
}

// add keeps a session under a key. Of very many the oldest is forgotten. The caller holds mu.
func (w *webSessions) add(in map[string]*webSession, key string, s *webSession) *webSession {
	if in[key] == nil {
		w.order = append(w.order, key)
	}
	in[key] = s
	if len(w.order) > mostSessions {
		delete(w.issued, w.order[0])
		delete(w.endpoints, w.order[0])
		w.order = w.order[1:]
	}
	return s
}

// name gives a session the id that the server has issued.
func (w *webSessions) name(id string, s *webSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.issued[id] == nil {
		w.add(w.issued, id, s)
	}
	if w.loose == s {
		w.loose = nil
	}
}

// number is that of the next trip in the session.
func (w *webSessions) number(s *webSession) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.trips++
	return s.trips
}

// listen is the session of a stream that was opened without an id: one of its own over HTTP+SSE, whose first event
// names the endpoint, relative to where the stream is.
func (w *webSessions) listen(at, endpoint string) *webSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	if endpoint == "" {
		return w.unnamed(nil)
	}
	s := w.open("sse")
	base, err := url.Parse(at)
	if err != nil {
		return s
	}
	if u, err := base.Parse(endpoint); err == nil {
		w.add(w.endpoints, u.RequestURI(), s)
	}
	return s
}
