"""From a query to a plan: planners, aspects, directions, default weights."""
