package config

import (
	"strconv"
	"strings"
)

// PerSecond is the value of a flag that is a number a second: 200, or 200/s.
type PerSecond[N int | float64] struct {
	// Number is what the flag sets.
	Number *N
}

func (p PerSecond[N]) String() string {
	if p.Number == nil {
		return "0"
	}
	return strconv.FormatFloat(float64(*p.Number), 'f', -1, 64)
}

// Set reads a number, with or without "/s".
func (p PerSecond[N]) Set(value string) error {
	value = strings.TrimSuffix(value, "/s")
	if p.Type() == "int" {
		n, err := strconv.Atoi(value)
		*p.Number = N(n)
		return err
	}
	n, err := strconv.ParseFloat(value, 64)
	*p.Number = N(n)
	return err
}

// Type is that of the flag in pflag.
func (p PerSecond[N]) Type() string {
	if _, isInt := any(p.Number).(*int); isInt {
		return "int"
	}
	return "float64"
}
