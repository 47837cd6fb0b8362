package schemas

import (
	"slices"
	"strings"
	"testing"
)

func TestOtherArguments(t *testing.T) {
	s := mustCompile(t, `{"type":"object","required":["kind"],"properties":{
		"kind":{"enum":["note","letter"]},
		"limit":{"type":"integer","minimum":0,"maximum":50,"default":20},
		"loud":{"type":"boolean"},
		"days":{"type":"integer","minimum":1,"maximum":7},"price":{"type":"number"},
		"titles":{"type":"array","items":{"type":"string"}},
		"name":{"type":"string"},"day":{"type":"string","pattern":"^[a-z]+$"},
		"inner":{"type":"object","properties":{"order":{"enum":["up","down"]}}}}}`)
	valid, err := ValidArguments(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, arguments := range OtherArguments(s, valid) {
		if err := s.Validate(arguments); err != nil {
			t.Errorf("%s: %v", jsonText(arguments), err)
		}
		got = append(got, jsonText(arguments))
	}
	for _, want := range []string{
		`{"day":"mcpcheck","days":1,"inner":{"order":"up"},"kind":"note","limit":20,"loud":false,` +
			`"name":"mcpcheck","price":1,"titles":["mcpcheck","mcpcheck"]}`,
		`{"kind":"letter"}`,
		`{"kind":"note","limit":20}`, `{"kind":"note","limit":0}`, `{"kind":"note","limit":1}`,
		`{"days":1,"kind":"note"}`, `{"days":7,"kind":"note"}`,
		`{"kind":"note","price":-1}`, `{"kind":"note","price":0.5}`,
		`{"kind":"note","loud":true}`, `{"kind":"note","loud":false}`,
		`{"kind":"note","titles":["mcpcheck"]}`,
		`{"kind":"note","name":"mcpcheck\u0000"}`, `{"kind":"note","name":"mcpcheck é✓😀"}`,
		`{"day":"mcpcheck","days":1,"inner":{"order":"down"},"kind":"note","limit":20,"loud":false,` +
			`"name":"mcpcheck","price":1,"titles":["mcpcheck","mcpcheck"]}`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among\n%v", want, got)
		}
	}
	if slices.Contains(got, `{"kind":"note","limit":50}`) {
		t.Error("a large number is tried")
	}
	if strings.Contains(strings.Join(got, ""), `"day":"mcpcheck é`) {
		t.Error("a text beyond ASCII is tried where a pattern forbids it")
	}
	if slices.Contains(got, jsonText(valid)) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("something comes twice: %v", got)
	}
}

func TestOtherChoices(t *testing.T) {
	s := mustCompile(t, `{"type":"object","required":["kind"],"properties":{
		"kind":{"enum":["note","letter"]},
		"loud":{"type":"boolean"},
		"tone":{"oneOf":[{"const":"low"},{"const":"high"}]}}}`)
	var got []string
	for _, arguments := range OtherChoices(s, map[string]any{"kind": "note"}) {
		got = append(got, jsonText(arguments))
	}
	want := []string{`{"kind":"letter"}`, `{"kind":"note","loud":false}`, `{"kind":"note","loud":true}`,
		`{"kind":"note","tone":"low"}`, `{"kind":"note","tone":"high"}`}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOtherLargeNumbers(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{
		"days":{"type":"integer","minimum":1,"maximum":14},
		"few":{"type":"integer","maximum":10},
		"all":{"type":"integer","maximum":1000},
		"pause":{"type":"integer","maximum":60,"description":"How many seconds to rest"},
		"sleepMs":{"type":"integer","maximum":50}}}`)
	var got []string
	for _, arguments := range OtherLargeNumbers(s, map[string]any{}) {
		got = append(got, jsonText(arguments))
	}
	if want := []string{`{"all":150}`, `{"days":14}`}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
