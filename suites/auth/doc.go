// Package auth has the checks of authorization over HTTP: which requests need a token, how requests without a valid one
// are refused, and the metadata of the protected resource and its authorization servers.
//
// They cover the page "Authorization" of the specification with RFC 6750 (bearer tokens), RFC 9728 (metadata of the
// resource) and RFC 8414 (metadata of authorization servers). Most checks read protectedRequestOf, the first request
// that needs a token, with resourceMetadataOf and invalidTokens.
//
// No check obtains a token: the user gives all of them. Tokens are sent to the server's own origin only, and other
// hosts are contacted only with consent (--contact-issuer).
package auth
