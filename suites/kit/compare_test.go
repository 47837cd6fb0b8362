package kit

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// answerTo is an answer to a call of add.
func answerTo(arguments, answer string) driver.Reply {
	request := []byte(`{"method":"tools/call","params":{"name":"add","arguments":` + arguments + `}}`)
	m, _ := driver.Decode([]byte(answer)).(M)
	return driver.Reply{
		Request: &driver.Frame{Raw: driver.Text(request), Shape: driver.Object},
		Frame:   &driver.Frame{Raw: driver.Text(answer), Shape: driver.Object},
		Made:    m,
	}
}

func failure(text string) string {
	return `{"result":{"isError":true,"content":[{"type":"text","text":"` + text + `"}]}}`
}

func TestSayAlike(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b driver.Reply
		want bool
	}{
		{"the same", answerTo(`{}`, failure("no network")), answerTo(`{"a":1}`, failure("no network")), true},
		{"a number", answerTo(`{}`, failure("no network (1)")), answerTo(`{}`, failure("no network (23)")), true},
		{"quoted arguments", answerTo(`{}`, failure("cannot add {}")),
			answerTo(`{"a":true}`, failure("cannot add {'a': True}")), true},
		{"another text", answerTo(`{}`, failure("a is missing")), answerTo(`{"a":1}`, failure("no network")), false},
		{"another kind", answerTo(`{}`, failure("busy")),
			answerTo(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"another code", answerTo(`{}`, `{"error":{"code":2,"message":"busy"}}`),
			answerTo(`{}`, `{"error":{"code":1,"message":"busy"}}`), false},
		{"success", answerTo(`{}`, `{"result":{"content":[]}}`), answerTo(`{}`, failure("busy")), false},
	} {
		if got := SayAlike(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
