package auth

import "github.com/mcpcheck/mcpcheck/suites/driver"

// isFromServer reports whether there is a response and the server itself sent it.
func isFromServer(a driver.HTTPResponse) bool { return a.StatusCode != 0 && !a.IsFromIntermediary() }
