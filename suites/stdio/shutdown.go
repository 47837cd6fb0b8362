package stdio

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
)

// shutdownChecks are the checks of how a server ends when stdin is closed.
var shutdownChecks = check.Suite{
	"stdio/exits-on-eof": check.ShutdownProbe(func(t *check.T) {
		e := handshake.CloseStdin(t)
		t.Expect(e.ExitedByItself).To(check.BeTrue("the process gone within 5s of the end of stdin", "%s", e.ForcedBy))
		t.ExpectAdvice(e.Duration <= 2*time.Second).To(check.BeTrue("an exit within 2s", "%v",
			e.Duration.Round(10*time.Millisecond)))
	}),

	"stdio/shutdown-output-clean": check.ShutdownProbe(func(t *check.T) {
		e := handshake.CloseStdin(t)
		if !e.ExitedByItself {
			t.Yield("the process did not exit by itself")
		}
		for _, m := range e.Output.Filter(e.Output.Kind, isCompleteLine).List {
			if string(m.Raw) == driver.ByteOrderMark {
				continue // stdio/stdout-only-messages reports it
			}
			t.Expect(m.LooksLikeMessage()).To(check.BeTrue("nothing but MCP messages while shutting down", "%q",
				m.Frame))
		}
	}),
}
