// Package kit is what checks of several areas share: steps, which are conversations that are held once, the record of a
// session put in pairs, and requests by hand.
package kit
