package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// exampleScalar makes a value of a type that is neither array nor object.
func exampleScalar(typ string, parts []*jsonschema.Schema, variant int) (any, error) {
	switch typ {
	case "string":
		return exampleString(parts, variant)
	case "boolean":
		return variant%2 == 1, nil
	case "null":
		return nil, nil
	}
	return exampleNumber(parts, typ == "integer", variant)
}

// exampleString makes a string of the format that schemas name, that matches their patterns and has the right length.
func exampleString(parts []*jsonschema.Schema, variant int) (any, error) {
	w := stringRulesOf(parts)
	if w.minLength > maxExampleLength {
		at := orRoot(locationPath(parts[0].Location))
		return nil, fmt.Errorf("%s: a string of %d characters is too long", at, w.minLength)
	}
	candidates := w.formatted(variant)
	candidates = append(candidates, fitLength(exampleText(variant), w.minLength, w.maxLength))
	all := ""
	for _, p := range w.patterns {
		if text, ok := matchingString(p, w.minLength, w.maxLength, variant); ok {
			candidates = append(candidates, text)
			all += text
		}
	}
	candidates = append(candidates, all)
	for _, text := range candidates {
		if w.allows(text) {
			return text, nil
		}
	}
	for _, s := range parts {
		if p, ok := s.Pattern.(*pattern); ok {
			return nil, p.noStringError(s)
		}
	}
	return nil, fmt.Errorf("%s: no string is at least %d and at most %d characters long",
		orRoot(locationPath(parts[0].Location)), w.minLength, w.maxLength)
}

// noStringError is the error that no string was found for the pattern of a schema.
func (p *pattern) noStringError(s *jsonschema.Schema) error {
	why := fmt.Errorf("no string found for %s", truncate(p.source, 80))
	if _, err := p.match(plainText); err != nil {
		why = err
	}
	return fmt.Errorf("%s/pattern: %w", locationPath(s.Location), why)
}

// stringRules is what schemas require of a string.
type stringRules struct {
	minLength, maxLength int
	formats              []string
	patterns             []*pattern
}

func stringRulesOf(parts []*jsonschema.Schema) stringRules {
	w := stringRules{minLength: largestKeyword(parts, func(s *jsonschema.Schema) *int { return s.MinLength }),
		maxLength: maxExampleLength}
	for _, s := range parts {
		if s.MaxLength != nil {
			w.maxLength = min(w.maxLength, *s.MaxLength)
		}
		if p, ok := s.Pattern.(*pattern); ok {
			w.patterns = append(w.patterns, p)
		}
		if f := schemaNoteOf(s).format; f != "" {
			w.formats = append(w.formats, f)
		}
	}
	return w
}

// allows reports whether a text has the right length and matches all patterns.
func (w stringRules) allows(text string) bool {
	if n := utf8.RuneCountInString(text); n < w.minLength || n > w.maxLength {
		return false
	}
	for _, p := range w.patterns {
		if matched, _ := p.match(text); !matched {
			return false
		}
	}
	return true
}

func (w stringRules) formatted(variant int) []string {
	var texts []string
	for _, f := range w.formats {
		texts = append(texts, formatExamples(f, variant)...)
		texts = append(texts, fittedExamples(f, w.minLength, w.maxLength)...)
	}
	return texts
}

// fittedExamples are strings of a format that have at least or at most a length, where strings of the format may be
// shorter or longer than formatExamples has them.
func fittedExamples(format string, least, most int) []string {
	const maxLabel = 63 // of a host name, and nearly as many before the @ of an address
	pad := func(n int) string { return fitLength("", min(max(1, n), maxLabel), maxLabel) }
	switch format {
	case "email", "idn-email":
		at := "@example.com"
		for least-len(at) > maxLabel {
			at = strings.Replace(at, "@", "@"+pad(least-len(at)-maxLabel)+".", 1)
		}
		return []string{pad(least-len(at)) + at, plainText + "@a.co", "a@a.co"}
	case "hostname", "idn-hostname":
		host := "example.com"
		for len(host) < least {
			host = pad(least-len(host)-1) + "." + host
		}
		return []string{host, "a.co", "a"}
	case "uri", "iri", "uri-reference", "iri-reference", "url", "uri-template":
		const base = "https://example.com/"
		path := fitLength("", max(0, least-len(base)), max(0, most-len(base)))
		return []string{base + path, "http://a.co", "http://a"}
	case "date-time":
		return []string{"2025-01-01T12:00:00." + strings.Repeat("0", max(1, least-len("2025-01-01T12:00:00.Z"))) + "Z"}
	}
	return nil
}

// fitLength pads a text to the length least, or cuts it to most.
func fitLength(text string, least, most int) string {
	if missing := least - len(text); missing > 0 {
		text += strings.Repeat(plainText, missing/len(plainText)+1)[:missing]
	}
	return text[:max(0, min(len(text), most))]
}

// exampleText is a string that shows its origin.
func exampleText(variant int) string {
	if variant == 0 {
		return plainText
	}
	return plainText + strconv.Itoa(variant)
}

// maxMatchTries is how many strings are made to find one that a pattern matches and that has the right length.
const maxMatchTries = 24

// matchingString makes a string that a pattern matches, with a length between the bounds.
func matchingString(p *pattern, least, most, variant int) (string, bool) {
	tree, err := syntax.Parse(p.source, syntax.ParseOptions{RegexOptions: syntax.RegexOptions(ecmaOptions)})
	if p.re == nil || err != nil {
		return "", false
	}
	w := stringRules{minLength: least, maxLength: most, patterns: []*pattern{p}}
	for try := range maxMatchTries {
		wanted := max(least, min(len(plainText), most)-try) // try the length of "mcpcheck" first, then shorter ones
		text, ok := exampleOf(tree.Root, wanted, variant+try/2)
		if !ok {
			continue
		}
		for _, candidate := range []string{text, text + fitLength(plainText,
			least-utf8.RuneCountInString(text), most)} {
			if w.allows(candidate) {
				return candidate, true
			}
		}
	}
	return "", false
}

// formatExamples are strings of a format (JSON Schema 2020-12 Validation, section 7.3), the best first. There are none
// for unknown formats, and for those that restrict nothing.
func formatExamples(format string, variant int) []string {
	day := 1 + variant%28
	word := exampleText(variant)
	switch format {
	case "date-time":
		return []string{fmt.Sprintf("2025-01-%02dT12:00:00Z", day), fmt.Sprintf("2025-01-%02dT12:00:00.000Z", day)}
	case "date":
		return []string{fmt.Sprintf("2025-01-%02d", day)}
	case "time":
		return []string{fmt.Sprintf("12:00:%02dZ", variant%60), fmt.Sprintf("12:00:%02d", variant%60)}
	case "duration":
		return []string{fmt.Sprintf("PT%dM", 1+variant)}
	case "email", "idn-email":
		return []string{word + "@example.com"}
	case "hostname", "idn-hostname":
		return []string{word + ".example.com", word}
	case "ipv4":
		return []string{fmt.Sprintf("192.0.2.%d", 1+variant%254)} // TEST-NET-1, RFC 5737
	case "ipv6":
		return []string{fmt.Sprintf("2001:db8::%x", 1+variant)} // documentation prefix, RFC 3849
	case "uri", "iri", "uri-reference", "iri-reference", "url", "uri-template":
		return []string{"https://example.com/" + word, "http://example.com/" + word, "https://example.com"}
	case "uuid":
		return []string{fmt.Sprintf("00000000-0000-4000-8000-%012x", 1+variant)}
	case "json-pointer":
		return []string{"/" + word}
	case "relative-json-pointer":
		return []string{fmt.Sprintf("%d", variant)}
	case "semver":
		return []string{fmt.Sprintf("1.0.%d", variant)}
	case "period":
		return []string{fmt.Sprintf("2025-01-%02dT12:00:00Z/PT1H", day)}
	}
	return nil
}

// numberRange is what schemas require of a number.
type numberRange struct {
	// low and high are the bounds; nil when there is none.
	low, high *big.Rat
	// lowOpen and highOpen report whether the bound itself is excluded.
	lowOpen, highOpen bool
	// step says that the number is a multiple of it; nil allows any number.
	step *big.Rat
}

func numberRangeOf(parts []*jsonschema.Schema, integer bool) numberRange {
	var z numberRange
	if integer {
		z.step = big.NewRat(1, 1)
	}
	for _, s := range parts {
		z.raise(s.Minimum, false)
		z.raise(s.ExclusiveMinimum, true)
		z.lower(s.Maximum, false)
		z.lower(s.ExclusiveMaximum, true)
		if s.MultipleOf != nil {
			z.step = commonMultiple(z.step, s.MultipleOf)
		}
	}
	return z
}

func (z *numberRange) raise(bound *big.Rat, open bool) {
	if bound != nil && (z.low == nil || bound.Cmp(z.low) > 0 || bound.Cmp(z.low) == 0 && open) {
		z.low, z.lowOpen = bound, open
	}
}

func (z *numberRange) lower(bound *big.Rat, open bool) {
	if bound != nil && (z.high == nil || bound.Cmp(z.high) < 0 || bound.Cmp(z.high) == 0 && open) {
		z.high, z.highOpen = bound, open
	}
}

func (z *numberRange) contains(n *big.Rat) bool {
	if z.low != nil && (n.Cmp(z.low) < 0 || z.lowOpen && n.Cmp(z.low) == 0) {
		return false
	}
	return z.high == nil || n.Cmp(z.high) < 0 || !z.highOpen && n.Cmp(z.high) == 0
}

// commonMultiple is the least common multiple of two positive fractions; a may be nil.
func commonMultiple(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	gcd := new(big.Int).GCD(nil, nil, a.Num(), b.Num())
	numerator := new(big.Int).Div(new(big.Int).Mul(a.Num(), b.Num()), gcd)
	return new(big.Rat).SetFrac(numerator, new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// exampleNumber makes a number: 1 if that is allowed, otherwise one near a bound. Variants count up from a lower bound,
// or down from an upper one.
func exampleNumber(parts []*jsonschema.Schema, integer bool, variant int) (any, error) {
	z := numberRangeOf(parts, integer)
	step := z.step
	if step == nil {
		step = big.NewRat(1, 2)
	}
	for _, candidate := range []*big.Rat{
		multiple(big.NewRat(1, 1), step, int64(variant)),
		multiple(z.low, step, int64(variant)),
		multiple(z.low, step, int64(variant)+1),
		multiple(z.low, step, 0),
		multiple(z.low, step, 1),
		multiple(z.high, step, -int64(variant)),
		multiple(z.high, step, -int64(variant)-1),
		multiple(z.high, step, -1),
		multiple(z.high, step, -2),
	} {
		if candidate != nil && z.contains(candidate) {
			return jsonNumber(candidate), nil
		}
	}
	if z.step == nil && z.low != nil && z.high != nil {
		return jsonNumber(between(z.low, z.high, int64(variant))), nil
	}
	return nil, fmt.Errorf("%s: no number found", orRoot(locationPath(parts[0].Location)))
}

// multiple is the smallest multiple of step that is not below n, plus some further steps; nil when n is nil.
func multiple(n, step *big.Rat, times int64) *big.Rat {
	if n == nil {
		return nil
	}
	count := new(big.Rat).Quo(n, step)
	floor := new(big.Int).Div(count.Num(), count.Denom()) // Euclidean: rounds down, the denominator being positive
	if !count.IsInt() {
		floor.Add(floor, big.NewInt(1))
	}
	floor.Add(floor, big.NewInt(times))
	return new(big.Rat).Mul(step, new(big.Rat).SetInt(floor))
}

// between returns a number strictly between two others.
func between(low, high *big.Rat, variant int64) *big.Rat {
	part := big.NewRat(1, variant%100+2)
	gap := new(big.Rat).Sub(high, low)
	return new(big.Rat).Add(low, gap.Mul(gap, part))
}

// jsonNumber returns a number as int64 or float64, or as json.Number if it is an integer too large for these.
func jsonNumber(n *big.Rat) any {
	switch {
	case n.IsInt() && n.Num().IsInt64():
		return n.Num().Int64()
	case n.IsInt():
		return json.Number(n.Num().String())
	}
	f, _ := n.Float64()
	return f
}
