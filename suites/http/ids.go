package http

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

var sessionIDChecks = check.Suite{
	"http/session-id-visible-ascii": check.Probe(func(t *check.T) {
		ids := discoveredIDs(t)
		if len(ids) == 0 {
			t.Skip(check.NotOffered, "the server issues no session id")
		}
		first := len(ids)
		if !t.Server.Sessionless {
			ids = append(ids, tenIDs(t)...)
		}
		for i, id := range ids {
			by := t
			if i < first {
				by = t.DecidedBy(t.Server.ConnectReply)
			}
			by.Expect(id).To(check.Satisfy("visible ASCII characters, 0x21 to 0x7E, at least one", isVisibleASCII))
		}
	}),

	"http/session-id-unique": check.Probe(func(t *check.T) {
		t.Expect(duplicates(requireSeveralIDs(t))).To(check.BeEmptyList[string]("no id that two sessions have"))
	}),

	"http/session-id-unpredictable": check.Probe(func(t *check.T) {
		ids := requireSeveralIDs(t)
		if allSame(ids) {
			t.Yield("all sessions have the same id")
		}
		secrets := secretParts(t, append(discoveredIDs(t), ids...))
		bits := invalid.VaryingBits(secrets)
		want := fmt.Sprintf("at least %d bits that differ", minSecretBits)
		t.Expect(bits >= minSecretBits).To(check.BeTrue(want, "about %d: %s", bits, firstFew(ids)))
	}),
}

// discoveredIDs are the session ids in the response that discovery received, as they were sent; none without the
// header.
func discoveredIDs(t *check.T) []string {
	f := t.Server.ConnectReply.Frame
	if f == nil || f.RoundTrip == nil {
		return nil
	}
	return slices.Clone(f.RoundTrip.Response().Header.Values(roundtrip.SessionIDHeader))
}

// tenIDs are the ids of ten sessions that begin at the same time. Where the server has one session only, they begin one
// after the other.
func tenIDs(t *check.T) []string {
	return check.Step(t, "ten sessions", func(t *check.T) (ids []string) {
		s := t.Session(check.Process)
		var sent []*driver.RoundTrip
		for i := range 10 {
			sent = append(sent, roundtrip.PostRequest(s, roundtrip.ManualRequest{
				ID:     invalid.StringIDOrDefault(t, fmt.Sprint("mcpcheck-one-of-ten-", i)),
				Method: "initialize", Params: driver.ConnectParams(t.Revision),
				Header: roundtrip.Header(roundtrip.SessionIDHeader),
			}))
			if t.Server.OneClient {
				sent[i].AwaitHeaders()
				s.HTTP().DeleteSessions()
			}
		}
		for _, x := range sent {
			if a := x.AwaitHeaders(); a.OK() {
				ids = append(ids, a.Header.Values(roundtrip.SessionIDHeader)...)
			}
		}
		return ids
	})
}

// requireSeveralIDs is tenIDs for a check that needs at least two ids.
func requireSeveralIDs(t *check.T) []string {
	skipUnlessSessions(t)
	ids := tenIDs(t)
	if len(ids) < 2 {
		t.NoVerdict(check.Undecided, "of ten times initialize at once, %d brought a session id", len(ids))
	}
	return ids
}

func isVisibleASCII(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7E })
}

func allSame(ids []string) bool { return len(slices.Compact(slices.Clone(ids))) == 1 }

// duplicates are the ids that occur more than once.
func duplicates(ids []string) (twice []string) {
	count := map[string]int{}
	for _, id := range ids {
		if count[id]++; count[id] == 2 {
			twice = append(twice, id)
		}
	}
	return twice
}

// firstFew shows the first few ids.
func firstFew(ids []string) string {
	shown := slices.Clone(ids[:min(len(ids), 3)])
	for i, id := range shown {
		shown[i] = driver.Brief([]byte(id))
	}
	return strings.Join(shown, ", ")
}

// secretParts are the parts of ids that must not be predictable: the signatures of JWTs, and the whole of other ids.
func secretParts(t *check.T, ids []string) []string {
	if slices.ContainsFunc(ids, func(id string) bool { return !isJWT(id) }) {
		return ids
	}
	var signatures []string
	for _, id := range ids {
		signature := id[strings.LastIndex(id, ".")+1:]
		if signature == "" {
			t.NoVerdict(check.Undecided, "the ids are tokens without a signature: %s", firstFew(ids))
		}
		signatures = append(signatures, signature)
	}
	return signatures
}

// minSecretBits is how many bits of a secret id must be unpredictable (OWASP Session Management Cheat Sheet).
const minSecretBits = 64

// isJWT reports whether an id has the form of a signed token (JWT, RFC 7519).
func isJWT(id string) bool {
	parts := strings.Split(id, ".")
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	return len(parts) == 3 && err == nil && check.HasMember(decodeObject(head), "alg")
}
