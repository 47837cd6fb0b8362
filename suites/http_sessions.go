package suites

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// httpSessions are the checks of sessions over Streamable HTTP.
var httpSessions = Suite{
	"http/session-id-visible-ascii": Probe(func(t *T) {
		ids := firstIDs(t)
		if len(ids) == 0 {
			t.Skip("the server issues no session id")
		}
		if !t.Server.Sessionless {
			ids = append(ids, tenIDs(t)...)
		}
		for _, id := range ids {
			t.Expect(id).To(That("visible ASCII characters, 0x21 to 0x7E, at least one", isVisibleASCII))
		}
	}),

	"http/session-id-unique": Probe(func(t *T) {
		ids := severalIDs(t)
		if allSame(ids) && t.Credentials.Bearer == "" {
			t.Skip("all sessions have the same id: http/session-id-unpredictable")
		}
		t.Expect(repeated(ids)).To(BeEmptyList[string]("no id that two sessions have"))
	}),

	"http/session-id-unpredictable": Probe(func(t *T) {
		ids := severalIDs(t)
		if allSame(ids) && t.Credentials.Bearer != "" {
			t.Inconclusive("all sessions have the same id, which may be one for each token: http/session-id-unique")
		}
		secrets := secretParts(t, append(firstIDs(t), ids...))
		pattern := guessable(secrets, time.Now())
		if allSame(ids) {
			pattern = "the same one for every session"
		}
		t.Expect(pattern == "").To(Hold("ids that nobody can guess", "%s: %s", pattern, some(ids)))
		bits := varying(secrets)
		t.Warn(bits >= enoughBits).To(Hold(fmt.Sprintf("at least %d bits that differ", enoughBits), "about %d: %s", bits, some(ids)))
	}),

	"http/session-missing-400": Probe(func(t *T) {
		needsSessions(t)
		r, a := withoutID(t)
		t.Expect(a).To(That("HTTP 400, or to be served", func(a driver.Answer) bool {
			return a.Status == http.StatusBadRequest || serves(r, a)
		}))
	}),

	"http/session-missing-get-400": Probe(func(t *T) {
		needsSessions(t)
		s := t.Session()
		x := get(s, header(sessionIDHeader))
		a := x.Head()
		x.Abort()
		if usual := standing(t, s); !streamOr405(usual) && a.Status == usual.Status {
			t.Skip("GET is answered like that in a session, too: http/get-stream-or-405")
		}
		t.Expect(a).To(That("HTTP 400, HTTP 405 or an event stream", func(a driver.Answer) bool {
			return a.Status == http.StatusBadRequest || streamOr405(a)
		}))
	}),

	"http/session-unknown-404": Probe(func(t *T) {
		needsSessions(t)
		s := t.Session()
		if isToken(s.SessionID()) {
			t.Skip("the session ids are signed: one that is made up is malformed")
		}
		x := handMade(s, "mcpcheck-unknown-session", t.Server.Fence, nil, header(sessionIDHeader, unlike(s.SessionID())))
		r := x.Reply()
		if r.Result() != nil && serves(withoutID(t)) {
			t.Skip("the server needs no session id: it serves requests without one, too")
		}
		t.Expect(x.Answer()).To(That("HTTP 404", isNotFound))
	}),

	"http/session-terminated-404": Probe(func(t *T) {
		needsSessions(t)
		e := endedSession(t)
		if !e.Delete.OK() {
			t.Skip("DELETE did not end the session: http/delete-supported-or-405")
		}
		t.Expect(e.Post).To(That("HTTP 404", isNotFound), "POST after DELETE was answered with %s", status(e.Delete))
		if e.Get.Status == e.GetBefore.Status && !streamOr405(e.GetBefore) {
			return // GET is not served at all: http/get-stream-or-405
		}
		t.Expect(e.Get).To(That("HTTP 404 or HTTP 405", func(a driver.Answer) bool {
			return isNotFound(a) || a.Status == http.StatusMethodNotAllowed
		}), "GET after DELETE was answered with %s", status(e.Delete))
	}),

	"http/delete-supported-or-405": Probe(func(t *T) {
		needsSessions(t)
		t.Expect(endedSession(t).Delete).To(That("a status of success, or HTTP 405", func(a driver.Answer) bool {
			return a.OK() || a.Status == http.StatusMethodNotAllowed
		}))
	}),

	"http/reinitialize-after-404": Probe(func(t *T) {
		needsSessions(t)
		e := endedSession(t)
		if !e.Delete.OK() {
			t.Skip("DELETE did not end the session: http/delete-supported-or-405")
		}
		t.Expect(e.Again).To(BeResult())
	}),

	"http/initialize-needs-no-session": Probe(func(t *T) {
		s := t.Start()
		plain := helloByHand(t, s, header(sessionIDHeader))
		if plain.Reply().Result() != nil {
			return
		}
		a := plain.Answer()
		skipUnauthorized(t, a)
		if !a.OK() && !demandsSession(a) {
			t.Inconclusive("initialize is not served: %s (lifecycle/initialize-succeeds)", a)
		}
		t.Expect(takenWith(t, s)).To(BeEmptyList[string]("initialize served without further headers, as with them"), "it was answered with %s", a)
		if t.Server.Welcome == nil { // else discovery has seen it served, and there may be one session only
			t.Inconclusive("initialize is not served in any way: %s (lifecycle/initialize-succeeds)", a)
		}
	}).WhenRefused(),

	"http/no-session-issued-no-session-required": Probe(func(t *T) {
		switch {
		case t.Server.Welcome == nil:
			t.Inconclusive("the handshake failed")
		case !t.Server.Sessionless:
			t.Skip("the server issues session ids")
		}
		answers := withoutSession(t)
		served := slices.ContainsFunc(answers, driver.Answer.OK)
		t.Expect(served || !slices.ContainsFunc(answers, demandsSession)).To(Hold("requests served without a session id, since initialize brought none",
			"%s (a proxy may have removed the header Mcp-Session-Id)", answers[0]))
		if !served {
			t.Inconclusive("requests are not served after the handshake: %s", answers[0])
		}
	}).WhenRefused(),

	"http/session-header-case-insensitive": Probe(func(t *T) {
		needsSessions(t)
		id := t.Session().SessionID()
		var forms []form
		for _, name := range []string{"mcp-session-id", "MCP-SESSION-ID", "MCP-Session-Id"} {
			forms = append(forms, form{name, header(name, id)})
		}
		compare(t, header(sessionIDHeader, id), forms)
	}),

	"http/session-isolation": Probe(func(t *T) {
		a, b := t.Own(), t.Own()
		mine, theirs := askTwo(t, a, b)
		strays := append(strayResponses(a, mine), strayResponses(b, theirs)...)
		t.Expect(strays).To(BeEmptyList[string]("each response once, and in its own session"))
		for _, x := range append(mine, theirs...) {
			if r := x.Reply(); r.Err != nil {
				t.Again("%v", Explain(r.Err))
			}
		}
	}),
}

const sessionIDHeader = "Mcp-Session-Id"

func needsSessions(t *T) {
	if t.Server.Sessionless {
		t.Skip("the server issues no session id")
	}
}

func isNotFound(a driver.Answer) bool { return a.Status == http.StatusNotFound }

func status(a driver.Answer) string { return fmt.Sprintf("HTTP %d", a.Status) }

// serves reports whether a request was carried out, be it with an error of the method
// itself.
func serves(r driver.Reply, a driver.Answer) bool {
	code, _ := r.Code()
	return a.OK() && (r.Result() != nil || code == -32601)
}

// handMade posts a request by hand under an id that says what it is for.
func handMade(s *driver.Session, id, method string, params M, header http.Header) *driver.Exchange {
	request := M{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		request["params"] = params
	}
	return s.Do(driver.HTTPRequest{Header: header, Body: Compact(request)})
}

// withoutID is a request in a session that lacks the session id.
func withoutID(t *T) (driver.Reply, driver.Answer) {
	x := Shared(t, "without session id", func(t *T) *driver.Exchange {
		x := byHand(t.Session(), t.Server.Fence, nil, header(sessionIDHeader))
		x.Reply()
		return x
	})
	return x.Reply(), x.Answer()
}

// byHandSession begins a session by hand, without the standing stream that others
// have. It returns the headers of requests in it; the id is empty when the server
// issues none.
func byHandSession(t *T, s *driver.Session) http.Header {
	hello := helloByHand(t, s, header(sessionIDHeader))
	if r := hello.Reply(); r.Result() == nil {
		t.Again("no session: initialize was answered with %s", hello.Answer())
	}
	h := header(versionHeader, t.Revision)
	if id := hello.Answer().Header.Get(sessionIDHeader); id != "" {
		h.Set(sessionIDHeader, id)
	}
	s.Do(driver.HTTPRequest{Header: h, Body: Compact(M{"jsonrpc": "2.0", "method": "notifications/initialized"})}).End()
	return h
}

// Ids of sessions.

// firstIDs is the session id that discovery was given, as it was on the wire; none
// when there was no such header.
func firstIDs(t *T) []string {
	f := t.Server.First.Frame
	if f == nil || f.HTTP == nil {
		return nil
	}
	return slices.Clone(f.HTTP.Answer().Header.Values(sessionIDHeader))
}

// tenIDs are the ids of ten sessions that begin at the same time.
func tenIDs(t *T) []string {
	return Shared(t, "ten sessions", func(t *T) (ids []string) {
		s := t.Start()
		var hellos []*driver.Exchange
		for i := range 10 {
			hellos = append(hellos, handMade(s, fmt.Sprint("mcpcheck-one-of-ten-", i), "initialize", driver.Hello(t.Revision), header(sessionIDHeader)))
		}
		for _, x := range hellos {
			if a := x.Head(); a.OK() {
				ids = append(ids, a.Header.Values(sessionIDHeader)...)
			}
		}
		return ids
	})
}

// severalIDs are tenIDs, or what there is of them.
func severalIDs(t *T) []string {
	needsSessions(t)
	ids := tenIDs(t)
	if len(ids) < 2 {
		t.Inconclusive("of ten times initialize at once, %d brought a session id", len(ids))
	}
	return ids
}

func isVisibleASCII(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7E })
}

func allSame(ids []string) bool { return len(slices.Compact(slices.Clone(ids))) == 1 }

// repeated are the ids that occur more than once.
func repeated(ids []string) (twice []string) {
	count := map[string]int{}
	for _, id := range ids {
		if count[id]++; count[id] == 2 {
			twice = append(twice, id)
		}
	}
	return twice
}

// some are the first few ids.
func some(ids []string) string {
	shown := slices.Clone(ids[:min(len(ids), 3)])
	for i, id := range shown {
		shown[i] = driver.Brief([]byte(id))
	}
	return strings.Join(shown, ", ")
}

// isToken reports whether an id is a signed token (JWT).
func isToken(id string) bool {
	parts := strings.Split(id, ".")
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	return len(parts) == 3 && err == nil && Has(object(head), "alg")
}

// secretParts are what nobody may be able to guess: of signed tokens the signatures,
// of others all.
func secretParts(t *T, ids []string) []string {
	if slices.ContainsFunc(ids, func(id string) bool { return !isToken(id) }) {
		return ids
	}
	var signatures []string
	for _, id := range ids {
		signature := id[strings.LastIndex(id, ".")+1:]
		if signature == "" {
			t.Inconclusive("the ids are tokens without a signature: %s", some(ids))
		}
		signatures = append(signatures, signature)
	}
	return signatures
}

// guessable says how the next id can be told from those before it; empty when that
// cannot be seen. It knows numbers that count, and times of the clock.
func guessable(ids []string, now time.Time) string {
	switch {
	case counting(ids):
		return "numbers that count"
	case timing(ids, now):
		return "times of the clock"
	}
	return ""
}

// counting reports whether ids differ only in a number, and these numbers are close
// to each other.
func counting(ids []string) bool {
	const close = 10_000
	rests := differing(ids)
	base := 10
	for _, rest := range rests {
		switch {
		case strings.Trim(rest, "0123456789") == "":
		case strings.Trim(rest, "0123456789abcdefABCDEF") == "":
			base = max(base, 16)
		default:
			base = 36
		}
	}
	var least, greatest *big.Int
	for _, rest := range rests {
		n, ok := new(big.Int).SetString("0"+rest, base)
		if !ok {
			return false
		}
		if least == nil || n.Cmp(least) < 0 {
			least = n
		}
		if greatest == nil || n.Cmp(greatest) > 0 {
			greatest = n
		}
	}
	return new(big.Int).Sub(greatest, least).Cmp(big.NewInt(close)) <= 0
}

// differing is the ids without what all of them begin and end with.
func differing(ids []string) []string {
	rests := slices.Clone(ids)
	common := func(at func(string) byte, cut func(string) string) {
		for {
			for _, rest := range rests {
				if rest == "" || at(rest) != at(rests[0]) {
					return
				}
			}
			for i := range rests {
				rests[i] = cut(rests[i])
			}
		}
	}
	common(func(s string) byte { return s[0] }, func(s string) string { return s[1:] })
	common(func(s string) byte { return s[len(s)-1] }, func(s string) string { return s[:len(s)-1] })
	return rests
}

var aTime = regexp.MustCompile(`[0-9]{9,19}`)

// timing reports whether ids differ only in a number that is the present time, in
// seconds or in a fraction of them.
func timing(ids []string, now time.Time) bool {
	const near = int64(24 * time.Hour / time.Second)
	cut := map[string]bool{}
	for _, id := range ids {
		at := aTime.FindStringIndex(id)
		if at == nil {
			return false
		}
		cut[id[:at[0]]+"·"+id[at[1]:]] = true
		n, _ := strconv.ParseInt(id[at[0]:at[1]], 10, 64)
		clock := slices.ContainsFunc([]int64{1, 1e3, 1e6, 1e9}, func(unit int64) bool {
			ago := now.Unix() - n/unit
			return -near < ago && ago < near
		})
		if !clock {
			return false
		}
	}
	return len(cut) == 1
}

// enoughBits is how much of a session id nobody should know; OWASP asks for as much.
const enoughBits = 64

// varying is about how many bits are not the same in all ids: for each place where
// some differ, those of one character.
func varying(ids []string) int {
	rests := differing(ids)
	long := slices.MinFunc(rests, func(a, b string) int { return len(a) - len(b) })
	places, seen := 0, ""
	for i := range long {
		differ := false
		for _, rest := range rests {
			differ = differ || len(rest) != len(long) || rest[i] != rests[0][i]
		}
		if !differ {
			continue
		}
		places++
		for _, rest := range rests {
			seen += rest[i : i+1]
		}
	}
	return int(float64(places) * math.Log2(float64(alphabet(seen))))
}

// alphabet is how many characters those come from that were seen.
func alphabet(seen string) int {
	digits, upper := "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower := strings.ToLower(upper)
	for _, all := range []string{digits, digits + "abcdef", digits + "ABCDEF", digits + lower, digits + upper, digits + lower + upper, digits + lower + upper + "-_"} {
		if strings.Trim(seen, all) == "" {
			return len(all)
		}
	}
	return 0x7E - 0x21 + 1
}

// A session that ends.

// ended is what came of a session that the client has ended.
type ended struct {
	GetBefore driver.Answer
	Delete    driver.Answer
	Post, Get driver.Answer // afterwards, with the id of the session
	Again     driver.Reply  // to initialize without it
}

// endedSession ends a session with DELETE and tries to use it.
func endedSession(t *T) ended {
	return Shared(t, "ended session", func(t *T) (e ended) {
		s := t.Start()
		in := byHandSession(t, s)
		e.GetBefore = headOf(get(s, in))
		if e.Delete = s.Do(driver.HTTPRequest{Method: http.MethodDelete, Header: in}).End(); !e.Delete.OK() {
			return e
		}
		again := handMade(s, "mcpcheck-start-over", "initialize", driver.Hello(t.Revision), header(sessionIDHeader))
		use := func(id string) {
			post, open := handMade(s, id, t.Server.Fence, nil, in), get(s, in)
			post.Reply()
			e.Post, e.Get = post.Answer(), headOf(open)
		}
		if use("mcpcheck-ended-session"); !isNotFound(e.Post) || e.Get.OK() {
			time.Sleep(graceOfEnd)
			use("mcpcheck-ended-session-later")
		}
		e.Again = again.Reply()
		return e
	})
}

// graceOfEnd is how long a server may take to end a session after it has said so.
const graceOfEnd = 500 * time.Millisecond

// headOf is the answer; of a stream only its beginning, and then it is dropped.
func headOf(x *driver.Exchange) driver.Answer {
	defer x.Abort()
	if a := x.Head(); a.IsStream {
		return a
	}
	return x.End()
}

// Servers without sessions, and with several.

// takenWith are the headers with which the server takes an initialize request that it
// refuses without them.
func takenWith(t *T, s *driver.Session) (with []string) {
	const made = "mcpcheck-0f8fad5b-d9cb-469f-a165-70867728950e"
	both := header(versionHeader, t.Revision)
	both.Set(sessionIDHeader, made)
	tries := []struct {
		with   string
		header http.Header
	}{
		{"with Mcp-Protocol-Version", http.Header{versionHeader: {t.Revision}, sessionIDHeader: nil}},
		{"with Mcp-Session-Id", header(sessionIDHeader, made)},
		{"with both", both},
	}
	var hellos []*driver.Exchange
	for _, try := range tries {
		hellos = append(hellos, helloByHand(t, s, try.header))
	}
	for i, x := range hellos {
		if x.Reply().Result() != nil {
			with = append(with, "served "+tries[i].with)
		}
	}
	return with
}

// demandsSession reports whether an answer may say that a session id is lacking.
func demandsSession(a driver.Answer) bool {
	return a.Status == http.StatusBadRequest || isNotFound(a)
}

// withoutSession are the answers to what every server takes, in a session that has
// no id: the notification that ends the handshake, and a request.
func withoutSession(t *T) (answers []driver.Answer) {
	s := t.Session()
	sent := []*driver.Exchange{
		s.Do(driver.HTTPRequest{Body: Compact(M{"jsonrpc": "2.0", "method": "notifications/initialized"})}),
		byHand(s, "ping", nil, nil),
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if t.Server.Declares(capability) {
			sent = append(sent, byHand(s, capability+"/list", nil, nil))
		}
	}
	for _, x := range sent {
		answers = append(answers, x.End())
	}
	return answers
}

// askTwo sends requests in two sessions at once, some of them under the same ids in
// both, and waits for the ends of the answers.
func askTwo(t *T, a, b *driver.Session) (inA, inB []*driver.Exchange) {
	const rounds = 4
	for i := range rounds {
		same := fmt.Sprint("mcpcheck-in-both-", i)
		inA = append(inA, handMade(a, same, t.Server.Fence, nil, nil), handMade(a, fmt.Sprint("mcpcheck-in-one-", i), t.Server.Fence, nil, nil))
		inB = append(inB, handMade(b, same, t.Server.Fence, nil, nil), handMade(b, fmt.Sprint("mcpcheck-in-other-", i), t.Server.Fence, nil, nil))
	}
	for _, x := range append(slices.Clone(inA), inB...) {
		x.End()
	}
	return inA, inB
}

// strayResponses are the ids of responses that were not asked for in a session, or
// came twice, among those of askTwo.
func strayResponses(s *driver.Session, asked []*driver.Exchange) (strays []string) {
	open := map[string]int{}
	for _, x := range asked {
		open[driver.IDKey(x.Asked())]++
	}
	for _, f := range s.Since(0) {
		for _, m := range f.Members() {
			key := driver.IDKey(m.ID)
			if !m.IsResponse() || !strings.HasPrefix(key, `"mcpcheck-in-`) {
				continue
			}
			if open[key]--; open[key] < 0 {
				strays = append(strays, Show(ID(m)))
			}
		}
	}
	return strays
}
