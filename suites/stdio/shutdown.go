package stdio

import (
	"time"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
)

var shutdownChecks = Suite{
	"stdio/exits-on-eof": ShutdownProbe(func(t *T) {
		e := handshake.CloseStdin(t)
		t.Expect(e.ExitedByItself).To(BeTrue("the process gone within 5s of the end of stdin", "%s", e.ForcedBy))
		t.ExpectAdvice(e.Duration <= 2*time.Second).To(BeTrue("an exit within 2s", "%v",
			e.Duration.Round(10*time.Millisecond)))
	}),

	"stdio/shutdown-output-clean": ShutdownProbe(func(t *T) {
		e := handshake.CloseStdin(t)
		if !e.ExitedByItself {
			t.Yield("the process did not exit by itself")
		}
		for _, m := range e.Output.Filter(e.Output.Kind, isCompleteLine).List {
			t.Expect(m.LooksLikeMessage()).To(BeTrue("nothing but MCP messages while shutting down", "%q", m.Frame))
		}
	}),
}
