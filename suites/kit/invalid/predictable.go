package invalid

import (
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// PredictablePattern describes how the next id follows from earlier ones; empty when no pattern is found. It recognizes
// counters and timestamps.
func PredictablePattern(ids []string, now time.Time) string {
	switch {
	case isSequence(ids):
		return "numbers that count"
	case isTimestampSequence(ids, now):
		return "times of the clock"
	}
	return ""
}

// isSequence reports whether ids differ only in a number, and these numbers are close to each other.
func isSequence(ids []string) bool {
	const close = 10_000
	rests := varyingParts(ids)
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

// varyingParts are the ids without their common prefix and suffix.
func varyingParts(ids []string) []string {
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

var timestampDigits = regexp.MustCompile(`[0-9]{9,19}`)

// isTimestampSequence reports whether ids differ only in a number that is the current time, in seconds or a fraction of
// them.
func isTimestampSequence(ids []string, now time.Time) bool {
	const near = int64(24 * time.Hour / time.Second)
	cut := map[string]bool{}
	for _, id := range ids {
		at := timestampDigits.FindStringIndex(id)
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

// MinSecretBits is how many bits of a secret id must be unpredictable (OWASP Session Management Cheat Sheet).
const MinSecretBits = 64

// VaryingBits estimates how many bits differ between ids: the bits of one character for each position where ids differ.
func VaryingBits(ids []string) int {
	rests := varyingParts(ids)
	long := slices.MinFunc(rests, func(a, b string) int { return len(a) - len(b) })
	places := 0
	var seen strings.Builder
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
			seen.WriteByte(rest[i])
		}
	}
	return int(float64(places) * math.Log2(float64(alphabetSize(seen.String()))))
}

// alphabetSize is the size of the alphabet that the characters come from.
func alphabetSize(seen string) int {
	digits, upper := "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower := strings.ToLower(upper)
	both := digits + lower + upper
	for _, all := range []string{
		digits, digits + "abcdef", digits + "ABCDEF", digits + lower, digits + upper, both, both + "-_",
	} {
		if strings.Trim(seen, all) == "" {
			return len(all)
		}
	}
	return 0x7E - 0x21 + 1
}

// IsJWT reports whether an id has the form of a signed token (JWT, RFC 7519).
func IsJWT(id string) bool {
	parts := strings.Split(id, ".")
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	return len(parts) == 3 && err == nil && check.HasMember(roundtrip.DecodeObject(head), "alg")
}
