package auth

import "testing"

// TestPlaceIn has a secret in each part of an HTTP request.
func TestPlaceIn(t *testing.T) {
	for _, test := range []struct{ request, want string }{
		{"GET /a HTTP/1.1\r\nHost: h\r\n\r\n", ""},
		{"GET /a?token=secret-1 HTTP/1.1\r\nHost: h\r\n\r\n", "its URL"},
		{"GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret-1\r\n\r\n", "its header Authorization"},
		{"POST /a HTTP/1.1\r\nHost: h\r\n\r\n{\"token\": \"secret-1\"}", "its body"},
		{"POST /a HTTP/1.1\r\nHost: h\r\n\r\nsecret-1", "its body"},
	} {
		if got := placeIn(test.request, "secret-1"); got != test.want {
			t.Errorf("%q: got %q, want %q", test.request, got, test.want)
		}
	}
}
