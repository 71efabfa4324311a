// Package benchhtml writes a bench's report as one HTML page with plots. The page needs nothing
// else: no script, no font and no address is loaded, and its Content-Security-Policy allows
// none. It follows the reader's choice of light or dark, and can be printed.
//
// It is a package of its own so that those who use package bench don't link what draws the
// plots, gonum.org/v1/plot.
package benchhtml
