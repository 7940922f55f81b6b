package site

import "strconv"

// Bar is a value of a chart.
type Bar struct {
	// Label names the value, and Short is the label below the bar. Default of Short: none.
	Label, Short string
	Value        int64
	// Text is the value as it is shown: "$1,250.00".
	Text string
	// Note is shown beside Text in the table. Default: none.
	Note string
}

// Chart is a drawing of values with a table of the same.
type Chart struct {
	// ID is unique on the page.
	ID, Title string
	// Summary is the drawing in one sentence.
	Summary string
	// Of and Value are the headings of the table: "Day", "Volume".
	Of, Value string
	Bars      []Bar
}

const (
	chartWidth, chartHeight = 720, 160
	chartGap                = 0.25 // of the width of a bar with its gap
)

// Column is a bar of a [Chart] as it is drawn.
type Column struct {
	Bar

	X, Y, Width, Height, Middle string
}

// Columns returns the bars as upright columns. The highest has the height of the drawing.
func (c Chart) Columns() []Column {
	top := c.top()
	columns := make([]Column, len(c.Bars))
	step := float64(chartWidth) / float64(max(len(c.Bars), 1))
	for i, b := range c.Bars {
		height := float64(b.Value) / float64(top) * chartHeight
		if b.Value > 0 {
			height = max(height, 2)
		}
		columns[i] = Column{
			Bar: b, X: decimal(float64(i)*step + step*chartGap/2), Y: decimal(chartHeight - height),
			Width: decimal(step * (1 - chartGap)), Height: decimal(height), Middle: decimal((float64(i) + 0.5) * step),
		}
	}
	return columns
}

// Shares returns the bars as lines of a list. The longest has the width of the list.
func (c Chart) Shares() []Column {
	top := c.top()
	lines := make([]Column, len(c.Bars))
	for i, b := range c.Bars {
		lines[i] = Column{Bar: b, Width: decimal(float64(b.Value)/float64(top)*100) + "%"}
	}
	return lines
}

func (c Chart) top() int64 {
	top := int64(1)
	for _, b := range c.Bars {
		top = max(top, b.Value)
	}
	return top
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
