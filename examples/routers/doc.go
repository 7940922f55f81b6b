// Package routers shows a gate behind routers other than http.ServeMux. It is a module of
// its own, so that importers of paywall do not get the routers as dependencies.
package routers
