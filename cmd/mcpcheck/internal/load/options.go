package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
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
	// Scale loads the server by 1, 2, 4, 8 … clients, one load after the other, before it does by all of them.
	Scale bool
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
	// Cancel is the share of requests after which a client sends a call of a tool and cancels it.
	Cancel  float64
	Budgets Budgets
	// Methods are the budgets of single methods.
	Methods map[string]Budgets
}

// cancelEvery is after how many requests a client cancels a call; 0 is never.
func (o Options) cancelEvery() int {
	if o.Cancel <= 0 {
		return 0
	}
	return max(1, int(math.Round(1/o.Cancel)))
}

// settings are what mcpcheck.yaml can say too, under the key load, with the function that takes it from there.
var settings = map[string]func(o *Options, s config.LoadSettings){
	"clients":    func(o *Options, s config.LoadSettings) { o.Clients = s.Clients },
	"processes":  func(o *Options, s config.LoadSettings) { o.Processes = s.Processes },
	"rate":       func(o *Options, s config.LoadSettings) { o.PerSecond = float64(s.Rate) },
	"duration":   func(o *Options, s config.LoadSettings) { o.Duration = s.Duration },
	"warmup":     func(o *Options, s config.LoadSettings) { o.Warmup = s.Warmup },
	"ramp":       func(o *Options, s config.LoadSettings) { o.Ramp = s.Ramp },
	"mix":        func(o *Options, s config.LoadSettings) { o.Mix = s.Mix },
	"cancel":     func(o *Options, s config.LoadSettings) { o.Cancel = s.Cancel },
	"p99":        func(o *Options, s config.LoadSettings) { o.Budgets.P99 = s.P99 },
	"errors":     func(o *Options, s config.LoadSettings) { o.Budgets.Errors = s.Errors },
	"throughput": func(o *Options, s config.LoadSettings) { o.Budgets.Throughput = s.Throughput },
}

// apply takes from the options of a run what a load needs, and from mcpcheck.yaml what no flag says.
func (o *Options) apply(v config.Options) error {
	o.Timeout, o.Seed, o.Calls, o.Examples = v.Timeout, v.Seed, v.CallPolicy, v.Arguments
	o.MaxMessageBytes, o.PerSecond, o.Methods = v.MaxMessageBytes, float64(v.Rate), v.Load.Methods
	for key, set := range settings {
		if v.HasLoadSetting(key) {
			set(o, v.Load)
		}
	}
	return o.validate(v.LoadOrigin)
}

// validate returns an error of usage for a value that makes no sense. origin says where a setting comes from.
func (o Options) validate(origin func(key string) string) error {
	for _, rule := range []struct {
		key   string
		valid bool
		want  string
	}{
		{"clients", o.Clients >= 1 && o.Clients <= maxClients,
			fmt.Sprintf("is from 1 to %d, not %d", maxClients, o.Clients)},
		{"processes", o.Processes >= 1 && o.Processes <= o.Clients,
			fmt.Sprintf("is from 1 to the number of clients, not %d", o.Processes)},
		{"duration", o.Duration > 0, "must be greater than 0"},
		{"warmup", o.Warmup >= 0, "must not be negative"},
		{"ramp", o.Ramp >= 0 && o.Ramp <= o.Duration, "is from 0 to the duration"},
		{"rate", o.PerSecond >= 0, "must not be negative"},
		{"rate", !o.Scale || o.PerSecond == 0, "and --scale exclude each other: leave out one of them"},
		{"cancel", o.Cancel >= 0 && o.Cancel <= 1, fmt.Sprintf("is a share from 0 to 1, not %g", o.Cancel)},
		{"p99", o.Budgets.P99 >= 0, "must not be negative"},
		{"errors", o.Budgets.Errors >= 0 && o.Budgets.Errors <= 1,
			fmt.Sprintf("is a share from 0 to 1, not %g", o.Budgets.Errors)},
		{"throughput", o.Budgets.Throughput >= 0, "must not be negative"},
	} {
		if !rule.valid {
			return exit.Usagef("%s %s", origin(rule.key), rule.want)
		}
	}
	return nil
}

// maxClients is the number of sessions that one machine can have with a server, by far.
const maxClients = 10_000

// budgetResults are the results of the budgets that want something. The first part of their names says of what.
func budgetResults(b Budgets, of string, f report.LoadFigures) (all []report.LoadResult) {
	add := func(name string, within bool, got string) {
		r := report.LoadResult{Name: of + name, Verdict: catalogue.Pass}
		if !within {
			r.Verdict, r.Count, r.Findings = catalogue.Fail, 1, []string{got}
		}
		all = append(all, r)
	}
	if b.P99 > 0 {
		add(WithinP99, f.Count > 0 && f.P99 <= float64(b.P99.Microseconds())/1000,
			fmt.Sprintf("%.1f ms, and %v is wanted", f.P99, b.P99))
	}
	if b.Throughput > 0 {
		add(Throughput, f.PerSecond >= b.Throughput,
			fmt.Sprintf("%.1f requests a second, and %g are wanted", f.PerSecond, b.Throughput))
	}
	if of != "" && b.Errors > 0 {
		add(WithinErrors, f.ErrorShare() <= b.Errors,
			fmt.Sprintf("%.4g of the requests had no response, and %g is allowed", f.ErrorShare(), b.Errors))
	}
	return all
}

// Budgets are what the operator wants of the figures.
type Budgets = config.LoadBudget

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
