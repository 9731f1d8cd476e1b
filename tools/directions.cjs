// The modules that each module may use through their public files. .dependency-cruiser.cjs derives its rules from this
// table, and scripts/house-picture.mjs derives the diagram in docs/architecture.md.
module.exports = {
  console: ['notifications', 'imports', 'results', 'eligibility', 'auth'],
  sandbox: ['results', 'bookings'],
  alerts: ['notifications', 'results', 'eligibility', 'accounts'],
  guide: [],
  changes: ['results', 'bookings', 'eligibility'],
  privacy: ['results', 'bookings', 'eligibility', 'accounts'],
  imports: ['eligibility', 'vouchers', 'accounts'],
  notifications: ['bookings'],
  results: ['bookings', 'eligibility'],
  bookings: ['launch', 'eligibility'],
  launch: ['eligibility'],
  eligibility: ['vouchers', 'accounts'],
  vouchers: ['accounts'],
  auth: ['accounts'],
  accounts: [],
};
