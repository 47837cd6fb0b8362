package stdio

import (
	"time"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var shutdown = Suite{
	"stdio/exits-on-eof": Ending(func(t *T) {
		e := kit.AtEOF(t)
		t.Expect(e.ByItself).To(Hold("the process gone within 5s of the end of stdin", "%s", e.How))
		t.Inform(e.Took <= 2*time.Second).To(Hold("an exit within 2s", "%v", e.Took.Round(10*time.Millisecond)))
	}),

	"stdio/shutdown-output-clean": Ending(func(t *T) {
		e := kit.AtEOF(t)
		if !e.ByItself {
			t.Yield("the process did not exit by itself")
		}
		for _, m := range e.Output.Filter(e.Output.What, isDone).List {
			t.Expect(m.IsMeant()).To(Hold("nothing but MCP messages while shutting down", "%q", m.Frame))
		}
	}),
}
