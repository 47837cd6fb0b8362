package schemas

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// toolTranslator translates errors of tool schemas, and of values by them.
var toolTranslator = translator{
	member: func(object []string, name, wrong string) ([]string, string) {
		return append(slices.Clone(object), name), wrong
	},
	choose:        onlyBranch,
	value:         brief,
	maxEnumValues: 4,
}

// maxFindings is how many findings an error of Validate has at most.
const maxFindings = 3

// describeError describes in one line what is wrong with a value.
func describeError(invalid *jsonschema.ValidationError) error {
	var texts []string
	for _, b := range toolTranslator.keywordErrors(invalid) {
		texts = append(texts, orRoot(jsonPointer(b.path))+": "+b.text)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	return errors.New(strings.Join(texts[:min(len(texts), maxFindings)], "; "))
}

// orRoot names the whole document "/", which reads better than the empty JSON pointer.
func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// onlyBranch selects the errors for a value that matches no branch: those of the only branch for its type, if there is
// one; or else the expected types, if all errors are about types; or else just that none matches.
func onlyBranch(e *jsonschema.ValidationError, branches [][]keywordError) []keywordError {
	var want []string
	var rest [][]keywordError
	got := ""
	for _, branch := range branches {
		k, ofType := branch[0].kind.(*kind.Type)
		if ofType && len(branch) == 1 && len(branch[0].path) == len(e.InstanceLocation) {
			want, got = appendNew(want, k.Want), k.Got
		} else {
			rest = append(rest, branch)
		}
	}
	switch len(rest) {
	case 0:
		k := &kind.Type{Want: want, Got: got}
		return []keywordError{{path: e.InstanceLocation, kind: k, text: textOfShape(k)}}
	case 1:
		return rest[0]
	}
	text := fmt.Sprintf("fits none of the %d schemas in %s", len(branches), keywordOf(e.ErrorKind))
	return []keywordError{{path: e.InstanceLocation, kind: e.ErrorKind, text: text}}
}
