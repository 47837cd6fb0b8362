// Package mistake tells a hello world which mistake it is to make.
package mistake

import "os"

// Is reports whether the mistake is to be made.
func Is(name string) bool { return os.Getenv("HELLO_MISTAKE") == name }

// Name is the name of the tool hello.
func Name() string {
	if Is("name") {
		return "say hello"
	}
	return "hello"
}
