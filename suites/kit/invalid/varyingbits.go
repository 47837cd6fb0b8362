package invalid

import (
	"math"
	"slices"
	"strings"
)

// VaryingBits estimates how many bits differ between ids: the bits of one character for each position where ids differ.
// Ids that count, or that are times of the clock, differ in few.
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
