package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// LoadSettings are the settings of mcpcheck load in mcpcheck.yaml. A flag of the same name takes precedence over each.
type LoadSettings struct {
	Clients    int                `yaml:"clients"`
	Processes  int                `yaml:"processes"`
	Rate       int                `yaml:"rate"`
	Duration   time.Duration      `yaml:"duration"`
	Warmup     time.Duration      `yaml:"warmup"`
	Ramp       time.Duration      `yaml:"ramp"`
	Mix        map[string]float64 `yaml:"mix"`
	Cancel     float64            `yaml:"cancel"`
	P99        time.Duration      `yaml:"p99"`
	Errors     float64            `yaml:"errors"`
	Throughput float64            `yaml:"throughput"`
	// Methods are the budgets of single methods.
	Methods map[string]LoadBudget `yaml:"methods"`
}

// LoadBudget is what the operator wants of the figures of a load. P99 and Throughput want nothing when they are 0.
type LoadBudget struct {
	// P99 is the longest 99th percentile.
	P99 time.Duration `yaml:"p99"`
	// Errors is the largest share of requests without a response, from 0 to 1.
	Errors float64 `yaml:"errors"`
	// Throughput is the least number of requests a second.
	Throughput float64 `yaml:"throughput"`
}

// HasLoadSetting reports whether mcpcheck.yaml has a setting of mcpcheck load, and no flag takes precedence over it.
func (v Options) HasLoadSetting(key string) bool {
	return !v.Flags.IsGiven(key) && v.position("load", key) != ""
}

// LoadOrigin returns the flag, or the place in the file, that a setting of mcpcheck load comes from.
func (v Options) LoadOrigin(key string) string {
	if v.HasLoadSetting(key) {
		return v.Location("load", key) + ": load." + key
	}
	return v.Origin(key) // rate is a key of its own too
}

// validateLoad finds a negative weight, and a budget of a method that can't be met. What flags can say too is validated
// by package load.
func (c File) validateLoad() *invalidValue {
	for _, method := range slices.Sorted(maps.Keys(c.Load.Mix)) {
		if c.Load.Mix[method] < 0 {
			return &invalidValue{[]any{"load", "mix", method}, fmt.Errorf("the weight of %s is negative", method)}
		}
	}
	for _, method := range slices.Sorted(maps.Keys(c.Load.Methods)) {
		if b := c.Load.Methods[method]; b.P99 < 0 || b.Errors < 0 || b.Errors > 1 || b.Throughput < 0 {
			return &invalidValue{[]any{"load", "methods", method},
				errors.New("p99 and throughput are positive, and errors is a share from 0 to 1")}
		}
	}
	return nil
}

// loadSchema is the schema of the key load.
const loadSchema = `{
        "clients": { "description": "How many clients send at a time.", "type": "integer", "minimum": 1 },
        "processes": { "description": "How many processes the clients share, over stdio.", "type": "integer", ` +
	`"minimum": 1 },
        "rate": { "description": "How many requests are sent a second, whether or not those before are answered.", ` +
	`"type": "integer", "minimum": 1 },
        "duration": { "description": "How long requests are counted.", "$ref": "#/$defs/duration" },
        "warmup": { "description": "How long requests are sent before that.", "$ref": "#/$defs/duration" },
        "ramp": { "description": "Within which time the clients begin.", "$ref": "#/$defs/duration" },
        "mix": { "description": "The weights of the methods; others are not sent.", "type": "object", ` +
	`"additionalProperties": { "type": "number", "minimum": 0 } },
        "cancel": { "description": "The share of requests after which a client cancels a call of a tool.", ` +
	`"type": "number", "minimum": 0, "maximum": 1 },
        ` + loadBudgetSchema + `,
        "methods": { "description": "Budgets of single methods.", "type": "object", "additionalProperties": {
          "type": "object", "additionalProperties": false, "properties": { ` + loadBudgetSchema + ` } } }
      }`

const loadBudgetSchema = `"p99": { "description": "The longest 99th percentile.", "$ref": "#/$defs/duration" },
        "errors": { "description": "The largest share of requests without a response.", "type": "number", ` +
	`"minimum": 0, "maximum": 1 },
        "throughput": { "description": "The least number of requests a second.", "type": "number", "minimum": 0 }`
