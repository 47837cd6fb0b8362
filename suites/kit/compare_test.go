package kit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// answerTo is an answer to a call of add.
func answerTo(arguments, answer string) driver.Reply {
	request := []byte(`{"method":"tools/call","params":{"name":"add","arguments":` + arguments + `}}`)
	m, _ := driver.Decode([]byte(answer)).(M)
	return driver.Reply{
		Request: &driver.Frame{Raw: request, Shape: driver.Object},
		Frame:   &driver.Frame{Raw: []byte(answer), Shape: driver.Object},
		M:       m,
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

// Which tools are tried first does not depend on the order in which they are listed, but on the seed.
func TestChoice(t *testing.T) {
	var tools []M
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		tools = append(tools, M{"name": name, "annotations": M{"readOnlyHint": name > "c"}})
	}
	reversed := []M{tools[5], tools[4], tools[3], tools[2], tools[1], tools[0]}
	order := func(seed int64, tools []M) (names string) {
		for _, tool := range Choice(&T{Server: &Server{Tools: tools}, Seed: seed}) {
			names += tool.Name
		}
		return names
	}
	first := order(1, tools)
	if again := order(1, reversed); again != first || first[:3] == "abc" || first[0] < 'd' || first[2] < 'd' {
		t.Errorf("got %s, then %s", first, again)
	}
	others := map[string]bool{}
	for seed := range int64(10) {
		others[order(seed, tools)] = true
	}
	if len(others) < 2 {
		t.Errorf("every seed makes %v", others)
	}
}

// An allowance ends by time or by size.
func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAllowance()
		for range 100 {
			a.Spend(answerTo(`{}`, failure("no network")))
		}
		if why := a.Spent(); why != "" {
			t.Error(why)
		}
		time.Sleep(time.Minute)
		if why := a.Spent(); why != "there was no time left for more calls" {
			t.Errorf("after a minute: %q", why)
		}
		a = NewAllowance()
		a.Spend(driver.Reply{Frame: &driver.Frame{Raw: make([]byte, 20<<20)}})
		if why := a.Spent(); why != "there was no room left for more answers" {
			t.Errorf("after 20 MiB: %q", why)
		}
	})
}
