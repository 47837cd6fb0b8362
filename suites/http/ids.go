package http

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
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
		want := fmt.Sprintf("at least %d bits that differ", enoughBits)
		t.Warn(bits >= enoughBits).To(Hold(want, "about %d: %s", bits, some(ids)))
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

// tenIDs are the ids of ten sessions that begin at the same time.
func tenIDs(t *T) []string {
	return Shared(t, "ten sessions", func(t *T) (ids []string) {
		s := t.Start()
		var hellos []*driver.Exchange
		for i := range 10 {
			hellos = append(hellos, kit.ByHand(s, kit.Request{
				ID: fmt.Sprint("mcpcheck-one-of-ten-", i), Method: "initialize", Params: driver.Hello(t.Revision),
				Header: kit.Header(kit.SessionIDHeader),
			}))
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

// isToken reports whether an id is a signed token (JWT).
func isToken(id string) bool {
	parts := strings.Split(id, ".")
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	return len(parts) == 3 && err == nil && Has(kit.Object(head), "alg")
}

// secretParts are what nobody may be able to guess: of signed tokens the signatures, of others all.
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

// guessable says how the next id can be told from those before it; empty when that cannot be seen. It knows numbers
// that count, and times of the clock.
func guessable(ids []string, now time.Time) string {
	switch {
	case counting(ids):
		return "numbers that count"
	case timing(ids, now):
		return "times of the clock"
	}
	return ""
}

// counting reports whether ids differ only in a number, and these numbers are close to each other.
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

// timing reports whether ids differ only in a number that is the present time, in seconds or in a fraction of them.
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

// varying is about how many bits are not the same in all ids: for each place where some differ, those of one character.
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
	for _, all := range []string{
		digits, digits + "abcdef", digits + "ABCDEF", digits + lower, digits + upper,
		digits + lower + upper, digits + lower + upper + "-_",
	} {
		if strings.Trim(seen, all) == "" {
			return len(all)
		}
	}
	return 0x7E - 0x21 + 1
}
