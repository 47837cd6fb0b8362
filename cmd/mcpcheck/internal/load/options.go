package load

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Options say how a server is loaded.
type Options struct {
	// Clients is how many clients send at a time. Over stdio they share Processes processes.
	Clients, Processes int
	// PerSecond is how many requests are sent a second, whether or not those before are answered; 0 lets each client
	// send its next request when the last one is answered.
	PerSecond float64
	// Duration is how long requests are counted, after Warmup. The clients begin within Ramp.
	Duration, Warmup, Ramp time.Duration
	// Timeout is how long a client waits for a response.
	Timeout time.Duration
	Mix     Mix
	Calls   report.CallPolicy
	// Examples are arguments by tool that the operator says are valid and harmless.
	Examples map[string]check.M
	Seed     int64
	// MaxMessageBytes is the size limit of a response.
	MaxMessageBytes int
	// IgnoreRefusals goes on when the server answers 429 or 503 with Retry-After, which is then a request without a
	// response.
	IgnoreRefusals bool
	Budgets        Budgets
}

// Validate returns an error of usage for a value that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Clients < 1 || o.Clients > maxClients:
		return exit.Usagef("--clients is from 1 to %d, not %d", maxClients, o.Clients)
	case o.Processes < 1 || o.Processes > o.Clients:
		return exit.Usagef("--processes is from 1 to the number of clients, not %d", o.Processes)
	case o.Duration <= 0 || o.Warmup < 0 || o.Ramp < 0 || o.Ramp > o.Duration:
		return exit.Usagef("--duration is positive, and --ramp is not longer")
	case o.Budgets.Errors < 0 || o.Budgets.Errors > 1:
		return exit.Usagef("--errors is a share from 0 to 1, not %g", o.Budgets.Errors)
	}
	return nil
}

// maxClients is the number of sessions that one machine can have with a server, by far.
const maxClients = 10_000

// Budgets are what the operator wants of the figures. P99 and Throughput want nothing when they are 0.
type Budgets struct {
	// P99 is the longest 99th percentile of all requests.
	P99 time.Duration
	// Errors is the largest share of requests without a response, from 0 to 1.
	Errors float64
	// Throughput is the least number of requests a second.
	Throughput float64
}

// Mix has the weights of the methods; nil weighs each method alike.
type Mix map[string]float64

// ParseMix parses a mix such as tools/call=5,tools/list=1.
func ParseMix(text string) (Mix, error) {
	if text == "" {
		return nil, nil
	}
	mix := Mix{}
	for part := range strings.SplitSeq(text, ",") {
		method, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		weight, err := strconv.ParseFloat(number, 64)
		if method == "" || err != nil || weight < 0 {
			return nil, fmt.Errorf("%q is not METHOD=WEIGHT, such as tools/call=5", part)
		}
		mix[method] = weight
	}
	return mix, nil
}

// weight is the weight of a method.
func (m Mix) weight(method string) float64 {
	if m == nil {
		return 1
	}
	return m[method]
}
