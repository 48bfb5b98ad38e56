"""From a chart to a picture: axes, marks and labels, for a page, a paper or a terminal."""
