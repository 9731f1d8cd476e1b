import type { Option } from '../components/fields';

export const SCOPE_OPTIONS: readonly Option[] = [
  ['read', 'read: records, results, the change feed'],
  ['create', 'create: new eligibilities, imports'],
  ['update', 'update: change eligibilities, vouchers'],
  ['delete', 'delete: cancel eligibilities'],
  ['launch', 'launch: start tests'],
  ['results', 'results: deliver results'],
  ['bookings', 'bookings: book, move, cancel'],
  ['support', 'support: the daily work of some accounts'],
  ['admin', 'admin: everything, of all accounts'],
];
