package x402

import "time"

// DiscoveryHTTP is the type of an HTTP endpoint in a catalog.
const DiscoveryHTTP = "http"

// DiscoveryItem is an endpoint in a facilitator's catalog (specification v2 §8).
type DiscoveryItem struct {
	// Resource is the URL of the endpoint. With a route template, its path is the template:
	// "https://api.example.com/users/:id".
	Resource string `json:"resource"`
	// Type is [DiscoveryHTTP].
	Type string `json:"type"`
	// X402Version is the version of the entries in Accepts.
	X402Version int `json:"x402Version"`
	// Accepts lists payments that were accepted. The 402 response is authoritative.
	Accepts []Requirements `json:"accepts"`
	// LastUpdated is the time of the last payment.
	LastUpdated time.Time `json:"lastUpdated"`
	// Description is a sentence that the seller wrote. Optional.
	Description string `json:"description,omitempty"`
	// MimeType is the media type of the response. Optional.
	MimeType string `json:"mimeType,omitempty"`
	// Extensions has [ExtensionBazaar], which describes the request and the response.
	Extensions map[string]Extension `json:"extensions,omitempty"`
}

// Pagination is the position of a page in a catalog.
type Pagination struct {
	// Limit is the most items of a page.
	Limit int `json:"limit"`
	// Offset is the number of items before the page.
	Offset int `json:"offset"`
	// Total is the number of items of all pages.
	Total int `json:"total"`
}

// DiscoveryPage is a page of a facilitator's catalog.
type DiscoveryPage struct {
	// X402Version is [Version2].
	X402Version int `json:"x402Version"`
	// Items are the endpoints.
	Items []DiscoveryItem `json:"items"`
	// Pagination is the position of the page.
	Pagination Pagination `json:"pagination"`
}
