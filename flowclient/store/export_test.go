package store

// DueQuery is what Due asks, for those who look how it is gone about.
const DueQuery = dueRows
