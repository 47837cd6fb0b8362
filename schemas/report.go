package schemas

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Report is the JSON Schema of the JSON report.
//
//go:embed report.schema.json
var Report []byte

// reportSchema compiles Report when it is first needed.
var reportSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(Report))
	if err != nil {
		return nil, err
	}
	const name = "report.schema.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, v); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
})

// ValidateReport returns a one-line error that says where a text is not a JSON report; nil when it is one.
func ValidateReport(text []byte) error {
	schema, err := reportSchema()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(v); errors.As(err, &invalid) {
		return deepestCause(invalid)
	} else if err != nil {
		return err
	}
	return nil
}

// deepestCause is the first cause that has none itself, with its place.
func deepestCause(e *jsonschema.ValidationError) error {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	_, said, _ := strings.Cut(e.Error(), "at ")
	if rest, top := strings.CutPrefix(said, "'': "); top {
		return errors.New(rest)
	}
	return errors.New("at " + said)
}
