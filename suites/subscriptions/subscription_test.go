package subscriptions

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// TestClosingSubscription proves that a subscription that was just cancelled counts as closing for ShortWait: the
// server may not have noticed the cancellation yet.
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
		after time.Duration // since the first one was cancelled
		want  int
	}{{0, 1}, {timing.ShortWait - 1, 1}, {timing.ShortWait, 0}} {
		frames := []*driver.Frame{
			frame(driver.FromClient, 0, 1, transcript.ListenMethod, `{"notifications":{}}`),
			frame(driver.FromServer, 0, 0, transcript.AcknowledgedMethod,
				`{"_meta":{"`+driver.MetaSubscription+`":1}}`),
			frame(driver.FromClient, time.Second, 0, "notifications/cancelled", `{"requestId":1}`),
			frame(driver.FromClient, time.Second+tt.after, 2, transcript.ListenMethod, `{"notifications":{}}`),
		}
		all := readSubscriptions(frames, &driver.Session{}).List
		if len(all) != 2 || all[1].ClosingOthers != tt.want || all[1].OpenOthers != 0 {
			t.Errorf("%v after the cancellation: %d subscriptions, the last %+v", tt.after, len(all), all[len(all)-1])
		}
	}
}
