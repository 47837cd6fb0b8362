package invalid

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestVaryingBits has session ids of real kinds of servers: the first is of discovery, and the ten others were
// issued at once.
func TestVaryingBits(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(1, 2))
	bytes := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		return b
	}
	hexed := func(n int) string { return hex.EncodeToString(bytes(n)) }
	millis := func(n int) int64 { // 300 ms after discovery, ten sessions within 4 ms
		if n == 0 {
			return now.UnixMilli()
		}
		return now.UnixMilli() + 300 + int64(n)/3
	}
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ulid := func(n int) string {
		text := ""
		for ms := millis(0) + 300*int64(min(n, 1)); len(text) < 10; ms /= 32 {
			text = string(crockford[ms%32]) + text
		}
		return text
	}
	tails := []string{"ZX4QK7J2M9W5T0BC", "5HV8R1NEAY6P3DS"}
	uuid := func(version string) string {
		x := hexed(16)
		return x[:8] + "-" + x[8:12] + "-" + version + x[13:16] + "-a" + x[17:20] + "-" + x[20:]
	}
	tests := []struct {
		name   string
		id     func(n int) string
		secret bool
	}{
		{"UUID", func(int) string { return uuid("4") }, true},
		{"mcp-session-UUID", func(int) string { return "mcp-session-" + uuid("4") }, true},
		{"UUID of version 7", func(n int) string { return fmt.Sprintf("%012x", millis(n)) + uuid("7")[13:] }, true},
		{"32 hexadecimal digits", func(int) string { return hexed(16) }, true},
		{"16 hexadecimal digits", func(int) string { return hexed(8) }, true},
		{"base64url", func(int) string { return base64.RawURLEncoding.EncodeToString(bytes(16)) }, true},
		{"ULIDs of one generator", func(n int) string {
			if n == 0 {
				return ulid(n) + tails[0]
			}
			return ulid(n) + tails[1] + string(crockford[n])
		}, true},
		{"time and random", func(n int) string { return fmt.Sprint(millis(n), "-", hexed(16)) }, true},
		{"number with a secret", func(n int) string { return fmt.Sprint(n, ".", hexed(32)) }, true},
		{"Math.random", func(int) string { return strconv.FormatUint(r.Uint64N(1<<51), 36) }, false},
		{"8 hexadecimal digits", func(int) string { return hexed(4) }, false},
		{"UUID of version 1", func(n int) string {
			return fmt.Sprintf("%08x-6f2a-11f0-9c3e-0242ac120002", millis(n)*10_000&0xffffffff+int64(r.UintN(9999)))
		}, false},
		{"object ids", func(n int) string { return fmt.Sprintf("6741%04x8f3b2c9d1e%06x", 3+min(n, 1), 0xab12+n) },
			false},
		{"numbers", func(n int) string { return strconv.Itoa(n + 1) }, false},
		{"padded numbers", func(n int) string { return fmt.Sprintf("session-%08d", n+95) }, false},
		{"numbers in the middle", func(n int) string { return fmt.Sprintf("s%d-worker1", 3*n) }, false},
		{"hexadecimal numbers", func(n int) string { return fmt.Sprintf("%016x", n+0xfff) }, false},
		{"seconds", func(n int) string { return fmt.Sprint(millis(n) / 1000) }, false},
		{"nanoseconds", func(n int) string { return fmt.Sprint("s", millis(n)*1e6+int64(r.UintN(1e6))) }, false},
	}
	for _, tt := range tests {
		var ids []string
		for n := range 11 {
			ids = append(ids, tt.id(n))
		}
		if bits := VaryingBits(ids); bits >= 64 != tt.secret {
			t.Errorf("%s: %d bits, should be secret: %v: %s", tt.name, bits, tt.secret, ids)
		}
	}
}
