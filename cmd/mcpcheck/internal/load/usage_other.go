//go:build !linux

package load

import "os"

// usageOf returns nothing: systems differ in the unit.
func usageOf(*os.ProcessState) (none usage) { return none }

// usageOfGroup returns nothing: the system does not tell it in one way.
func usageOfGroup(int) (none usage) { return none }
