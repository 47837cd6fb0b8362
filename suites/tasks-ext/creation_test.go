package tasksext

import (
	"testing"
	"time"
)

func TestAreTimes(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	tests := []struct {
		ids  []string
		want bool
	}{
		{[]string{"task-1794999990123456789", "task-1795000000000000001"}, true},
		{[]string{"1795000000123", "1794999999456"}, true},
		{[]string{"1795000000123-a", "1794999999456-b"}, false},
		{[]string{"9995000000123", "9994999999456"}, false},
		{[]string{"a3f9", "b011"}, false},
	}
	for _, tt := range tests {
		if got := areTimes(tt.ids, now); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.ids, got, tt.want)
		}
	}
}
