"""The budget: what may still be spent, how its entries are chained, where they are kept."""
