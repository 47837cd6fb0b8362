package transcript

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// A subscription that was taken back counts as leaving for a moment: the server may not have let it go yet.
func TestClosingSubscription(t *testing.T) {
	frame := func(side driver.Side, at time.Duration, id int, method, params string) *driver.Frame {
		f := &driver.Frame{
			Side: side, At: at, Kind: driver.Object, HasJSONRPC: true, Method: method, HasMethod: true,
			Raw: driver.Text(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)),
		}
		if id > 0 {
			f.ID = []byte(strconv.Itoa(id))
		}
		return f
	}
	for _, tt := range []struct {
		after time.Duration // the first one was taken back
		want  int
	}{{0, 1}, {protocol.ShortWait - 1, 1}, {protocol.ShortWait, 0}} {
		said := []*driver.Frame{
			frame(driver.FromClient, 0, 1, ListenMethod, `{"notifications":{}}`),
			frame(driver.FromServer, 0, 0, AcknowledgedMethod, `{"_meta":{"`+driver.MetaSubscription+`":1}}`),
			frame(driver.FromClient, time.Second, 0, "notifications/cancelled", `{"requestId":1}`),
			frame(driver.FromClient, time.Second+tt.after, 2, ListenMethod, `{"notifications":{}}`),
		}
		all := readSubscriptions(said, &driver.Session{}).List
		if len(all) != 2 || all[1].ClosingOthers != tt.want || all[1].OpenOthers != 0 {
			t.Errorf("asked %v after it: %d subscriptions, the last %+v", tt.after, len(all), all[len(all)-1])
		}
	}
}
