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

// violations translates what the validator says into the rules broken, in the order of their paths, each once.
func (set *messageSet) violations(definition string, err error) []Violation {
	if err == nil {
		return nil
	}
	t := translator{member: lacked, choose: meantBranch, value: quoted, listed: math.MaxInt, optional: set.optional}
	var found []Violation
	for _, b := range t.breaches(err.(*jsonschema.ValidationError)) {
		found = append(found, Violation{definition, pointer(b.path), keywordOf(b.kind), ruleOf(b), b.nullOptional})
	}
	return found
}

// ruleOf is the text of a breach. A fraction is worth saying where the schemas are our own: who reads them need not
// know what an integer is to JSON Schema.
func ruleOf(b breach) string {
	if k, ok := b.kind.(*kind.Type); ok && k.Got == "number" && slices.Contains(k.Want, "integer") {
		return b.text + " with a fraction"
	}
	return b.text
}

const missingRule = "missing required member "

// lacked says that a member is missing at the object that should have it.
func lacked(object []string, name, _ string) (path []string, text string) {
	return object, missingRule + strconv.Quote(name)
}

// meantBranch chooses what to say when a value fits no branch of an anyOf: what is wrong in all branches, and then what
// is wrong in the branch that was meant, which is the first with the fewest missing members. Branches that lack one
// member each are said in one line.
func meantBranch(_ *jsonschema.ValidationError, branches [][]breach) []breach {
	common, rest := splitCommon(branches)
	if merged, ok := lackingOneEach(rest); ok {
		return append(common, merged)
	}
	best := slices.MinFunc(rest, func(a, b []breach) int {
		return cmp.Or(cmp.Compare(missing(a), missing(b)), cmp.Compare(len(a), len(b)))
	})
	return append(common, best...)
}

// splitCommon parts the breaches that all branches share from the rest of each branch.
func splitCommon(branches [][]breach) (common []breach, rest [][]breach) {
	for _, b := range branches[0] {
		if !slices.ContainsFunc(branches, func(branch []breach) bool { return !holdsSame(branch, b) }) {
			common = append(common, b)
		}
	}
	for _, branch := range branches {
		own := slices.DeleteFunc(slices.Clone(branch), func(b breach) bool { return holdsSame(common, b) })
		rest = append(rest, own)
	}
	return common, rest
}

func holdsSame(list []breach, b breach) bool {
	return slices.ContainsFunc(list, func(other breach) bool { return compareBreaches(b, other) == 0 })
}

// lackingOneEach joins branches that each lack one member of the same object.
func lackingOneEach(branches [][]breach) (breach, bool) {
	var names []string
	for _, branch := range branches {
		if len(branch) != 1 || missing(branch) != 1 || !slices.Equal(branch[0].path, branches[0][0].path) {
			return breach{}, false
		}
		names = append(names, strings.TrimPrefix(branch[0].text, missingRule))
	}
	merged := branches[0][0]
	merged.text = missingRule + strings.Join(slices.Compact(names), " or ")
	return merged, true
}

// missing counts the breaches about members that are missing.
func missing(branch []breach) int {
	n := 0
	for _, b := range branch {
		if keywordOf(b.kind) == "required" {
			n++
		}
	}
	return n
}

// quoted shows a value of a message in one short line.
func quoted(value any) string {
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
