package http

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var ids = Suite{
	"http/session-id-visible-ascii": Probe(func(t *T) {
		ids := firstIDs(t)
		if len(ids) == 0 {
			t.Because(NotOffered).Skip("the server issues no session id")
		}
		first := len(ids)
		if !t.Server.Sessionless {
			ids = append(ids, tenIDs(t)...)
		}
		for i, id := range ids {
			by := t
			if i < first {
				by = t.By(t.Server.First)
			}
			by.Expect(id).To(That("visible ASCII characters, 0x21 to 0x7E, at least one", isVisibleASCII))
		}
	}),

	"http/session-id-unique": Probe(func(t *T) {
		ids := severalIDs(t)
		if allSame(ids) && t.Credentials.Bearer == "" {
			t.Yield("all sessions have the same id")
		}
		t.Expect(repeated(ids)).To(BeEmptyList[string]("no id that two sessions have"))
	}),

	"http/session-id-unpredictable": Probe(func(t *T) {
		ids := severalIDs(t)
		if allSame(ids) && t.Credentials.Bearer != "" {
			t.Because(OtherCheck).Inconclusive("all sessions have the same id, which may be one for each token")
		}
		secrets := secretParts(t, append(firstIDs(t), ids...))
		pattern := kit.Guessable(secrets, time.Now())
		if allSame(ids) {
			pattern = "the same one for every session"
		}
		t.Expect(pattern == "").To(Hold("ids that nobody can guess", "%s: %s", pattern, some(ids)))
		bits := kit.VaryingBits(secrets)
		want := fmt.Sprintf("at least %d bits that differ", kit.EnoughBits)
		t.Warn(bits >= kit.EnoughBits).To(Hold(want, "about %d: %s", bits, some(ids)))
	}),
}

// Ids of sessions.

// firstIDs is the session id that discovery was given, as it was on the wire; none when there was no such header.
func firstIDs(t *T) []string {
	f := t.Server.First.Frame
	if f == nil || f.HTTP == nil {
		return nil
	}
	return slices.Clone(f.HTTP.Answer().Header.Values(kit.SessionIDHeader))
}

// tenIDs are the ids of ten sessions that begin at the same time or, where the server serves one, one after the other.
func tenIDs(t *T) []string {
	return Step(t, "ten sessions", func(t *T) (ids []string) {
		s := t.Start()
		var hellos []*driver.Exchange
		for i := range 10 {
			hellos = append(hellos, kit.ByHand(s, kit.Request{
				ID:     kit.TextID(t, fmt.Sprint("mcpcheck-one-of-ten-", i)),
				Method: "initialize", Params: driver.Hello(t.Revision), Header: kit.Header(kit.SessionIDHeader),
			}))
			if t.Server.OneClient {
				hellos[i].Head()
				s.HTTP().EndIssued()
			}
		}
		for _, x := range hellos {
			if a := x.Head(); a.OK() {
				ids = append(ids, a.Header.Values(kit.SessionIDHeader)...)
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

// secretParts are what nobody may be able to guess: of signed tokens the signatures, of others all.
func secretParts(t *T, ids []string) []string {
	if slices.ContainsFunc(ids, func(id string) bool { return !kit.IsToken(id) }) {
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
