package auth

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseChallenges has valid and invalid WWW-Authenticate headers. Of invalid ones the part before the error is
// parsed.
func TestParseChallenges(t *testing.T) {
	none := map[string]string{}
	tests := []struct {
		values []string
		want   []challenge
		legal  bool
	}{
		{[]string{`Bearer`}, []challenge{{"bearer", "", none}}, true},
		{
			[]string{`bearer realm="a, b", error=invalid_token`},
			[]challenge{{"bearer", "", map[string]string{"realm": "a, b", "error": "invalid_token"}}},
			true,
		},
		{
			[]string{`Bearer Scope = "a b" ,error="say \"no\""`},
			[]challenge{{"bearer", "", map[string]string{"scope": "a b", "error": `say "no"`}}},
			true,
		},
		{[]string{`Bearer realm=""`}, []challenge{{"bearer", "", map[string]string{"realm": ""}}}, true},
		{[]string{`Basic realm="x", Bearer scope="y", DPoP algs="ES256"`}, []challenge{
			{
				"basic",
				"",
				map[string]string{"realm": "x"},
			}, {"bearer", "", map[string]string{"scope": "y"}}, {"dpop", "", map[string]string{"algs": "ES256"}},
		}, true},
		{
			[]string{`Bearer, Basic realm=x`},
			[]challenge{{"bearer", "", none}, {"basic", "", map[string]string{"realm": "x"}}},
			true,
		},
		{
			[]string{`Basic realm="x"`, `Bearer`},
			[]challenge{{"basic", "", map[string]string{"realm": "x"}}, {"bearer", "", none}},
			true,
		},
		{
			[]string{`Negotiate abc/+==, Bearer`},
			[]challenge{{"negotiate", "abc/+==", none}, {"bearer", "", none}},
			true,
		},
		{
			[]string{`, Bearer realm="x",, error="y",`},
			[]challenge{{"bearer", "", map[string]string{"realm": "x", "error": "y"}}},
			true,
		},
		{nil, nil, true},

		{
			[]string{`Bearer resource_metadata=https://example.com/x`},
			[]challenge{{"bearer", "", map[string]string{"resource_metadata": "https"}}},
			false,
		},
		{[]string{`Bearer realm="x"; error="y"`}, []challenge{{"bearer", "", map[string]string{"realm": "x"}}}, false},
		{[]string{`Bearer realm="x" error="y"`}, []challenge{{"bearer", "", map[string]string{"realm": "x"}}}, false},
		{[]string{`Bearer realm="x`}, []challenge{{"bearer", "", none}}, false},
		{[]string{`Bearer: realm="x"`}, []challenge{{"bearer", "", none}}, false},
		{[]string{`Bearer error=x, realm=`}, []challenge{{"bearer", "", map[string]string{"error": "x"}}}, false},
		{[]string{`"Bearer"`}, nil, false},
	}
	for _, tt := range tests {
		got, err := challengesOf(http.Header{"Www-Authenticate": tt.values})
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != tt.legal {
			t.Errorf("%q: %v\n%s", tt.values, err, diff)
		}
	}
}
