package schemas

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// violations translates the error of the validator into violations, ordered by path and without duplicates.
func (set *messageSet) violations(definition string, err error) []Violation {
	if err == nil {
		return nil
	}
	t := translator{member: missingMember, choose: intendedBranch, value: quote, maxEnumValues: math.MaxInt,
		optional: set.optional}
	var found []Violation
	for _, b := range t.keywordErrors(err.(*jsonschema.ValidationError)) {
		found = append(found, Violation{definition, jsonPointer(b.path), keywordOf(b.kind), ruleOf(b), b.nullOptional})
	}
	return found
}

// ruleOf is the text of a keyword error. It mentions a fraction, since readers need not know what an integer is in JSON
// Schema.
func ruleOf(b keywordError) string {
	if k, ok := b.kind.(*kind.Type); ok && k.Got == "number" && slices.Contains(k.Want, "integer") {
		return b.text + " with a fraction"
	}
	return b.text
}

const missingRule = "missing required member "

// missingMember reports a missing member at the object that should have it.
func missingMember(object []string, name, _ string) (path []string, text string) {
	return object, missingRule + strconv.Quote(name)
}

// intendedBranch selects the errors to report when a value matches no branch of an anyOf: the errors common to all
// branches, and those of the branch that was probably intended, which is the first with the fewest missing members.
// Branches that lack one member each are joined in one line.
func intendedBranch(_ *jsonschema.ValidationError, branches [][]keywordError) []keywordError {
	common, rest := splitCommon(branches)
	if merged, ok := joinMissing(rest); ok {
		return append(common, merged)
	}
	best := slices.MinFunc(rest, func(a, b []keywordError) int {
		return cmp.Or(cmp.Compare(countMissing(a), countMissing(b)), cmp.Compare(len(a), len(b)))
	})
	return append(common, best...)
}

// splitCommon separates the errors that all branches share from the other errors of each branch.
func splitCommon(branches [][]keywordError) (common []keywordError, rest [][]keywordError) {
	for _, b := range branches[0] {
		if !slices.ContainsFunc(branches, func(branch []keywordError) bool { return !containsSame(branch, b) }) {
			common = append(common, b)
		}
	}
	for _, branch := range branches {
		own := slices.DeleteFunc(slices.Clone(branch), func(b keywordError) bool { return containsSame(common, b) })
		rest = append(rest, own)
	}
	return common, rest
}

func containsSame(list []keywordError, b keywordError) bool {
	return slices.ContainsFunc(list, func(other keywordError) bool { return compareKeywordErrors(b, other) == 0 })
}

// joinMissing joins the errors of branches that each lack one member of the same object.
func joinMissing(branches [][]keywordError) (keywordError, bool) {
	var names []string
	for _, branch := range branches {
		if len(branch) != 1 || countMissing(branch) != 1 || !slices.Equal(branch[0].path, branches[0][0].path) {
			return keywordError{}, false
		}
		names = append(names, strings.TrimPrefix(branch[0].text, missingRule))
	}
	merged := branches[0][0]
	merged.text = missingRule + strings.Join(slices.Compact(names), " or ")
	return merged, true
}

// countMissing counts the errors about missing members.
func countMissing(branch []keywordError) int {
	n := 0
	for _, b := range branch {
		if keywordOf(b.kind) == "required" {
			n++
		}
	}
	return n
}

// quote shows a value of a message in one short line.
func quote(value any) string {
	const width = 60
	s, ok := value.(string)
	if !ok {
		return brief(value)
	}
	if short := text.Shorten(s, text.Characters, width, 0, ""); short != s {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}
