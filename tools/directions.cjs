// The modules that each module may use, through their faces. .dependency-cruiser.cjs makes rules of this table, and
// scripts/house-picture.mjs the picture in docs/architecture.md.
module.exports = {
  console: ['notifications', 'imports', 'results', 'eligibility', 'auth'],
  sandbox: ['results', 'bookings'],
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
