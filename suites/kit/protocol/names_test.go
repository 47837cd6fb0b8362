package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepeatedNames(t *testing.T) {
	for document, want := range map[string]string{
		`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`: "",
		`{"a":1,"b":2,"a":3,"a":{"c":0,"c":1}}`:     "/a /a /a/c",
		`[{"a":[[{"b/c~":1,"b/c~":2}]]}]`:           "/0/a/0/0/b~1c~0",
		`{"a":1,"\u0061":2}`:                        "/a",
		`{"a":1,"A":2}`:                             "",
		`{"a":1e999,"b":null,"a":"x"}`:              "/a",
		`{"a":1,"a":2,"b":}`:                        "/a",
		`{"a":1,"a":`:                               "/a",
		``:                                          "",
		`"a"`:                                       "",
		`{"result":{"inputRequests":{"k":{},"k":{}}}}`: "/result/inputRequests/k",
	} {
		if diff := cmp.Diff(want, strings.Join(RepeatedNames([]byte(document)), " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", document, diff)
		}
	}
}
