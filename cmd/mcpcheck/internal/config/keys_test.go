package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
)

var updateSchema = flag.Bool("update", false, "write schemas/config.schema.json")

// TestSchemaIsCurrent proves that the file is the schema of the table keys; with -update it writes the file.
func TestSchemaIsCurrent(t *testing.T) {
	name := filepath.Join("..", "..", "..", "..", "schemas", "config.schema.json")
	if *updateSchema {
		if err := os.WriteFile(name, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), string(Schema())); diff != "" {
		t.Errorf("%s is not current; run go generate ./cmd/mcpcheck/internal/config:\n%s", name, diff)
	}
}

// TestKeysAreFields proves that the table has a row for each field of File, with the address of that field.
func TestKeysAreFields(t *testing.T) {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
		var f File
		value := reflect.ValueOf(k.field(&f)).Elem()
		for field := range reflect.TypeFor[File]().Fields() {
			isSame := reflect.ValueOf(&f).Elem().FieldByIndex(field.Index).Addr().Pointer() == value.Addr().Pointer()
			if isSame && field.Tag.Get("yaml") != k.name {
				t.Errorf("the row of %s has the field %s", k.name, field.Name)
			}
		}
	}
	if diff := cmp.Diff(yamlfile.Keys(reflect.TypeFor[File]()), names); diff != "" {
		t.Errorf("the fields (-) and the rows (+) differ:\n%s", diff)
	}
}
