"""What is measured: one kind of statistic after the other, as integer cells that one person moves by a known amount."""
