package config

import "testing"

// TestPerSecond checks that a flag for a number a second takes the unit, too.
func TestPerSecond(t *testing.T) {
	for value, want := range map[string]float64{"200": 200, "200/s": 200, "0.5/s": 0.5} {
		var n float64
		if err := (PerSecond[float64]{&n}).Set(value); err != nil || n != want {
			t.Errorf("%s: got %v, %v; want %v", value, n, err, want)
		}
	}
	for value, want := range map[string]int{"200": 200, "200/s": 200, "-1": -1} {
		var n int
		if err := (PerSecond[int]{&n}).Set(value); err != nil || n != want {
			t.Errorf("%s: got %v, %v; want %v", value, n, err, want)
		}
	}
	for _, value := range []string{"", "/s", "200/m", "many", "1.5"} {
		var n int
		if err := (PerSecond[int]{&n}).Set(value); err == nil {
			t.Errorf("%q: got %d; want an error", value, n)
		}
	}
}
