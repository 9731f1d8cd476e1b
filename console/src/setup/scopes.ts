import type { Option } from '../components/fields';

export const SCOPE_OPTIONS: readonly Option[] = [
  ['read', 'read: read records, results and the change feed'],
  ['create', 'create: create eligibilities and import files'],
  ['update', 'update: change eligibilities and vouchers'],
  ['delete', 'delete: cancel eligibilities'],
  ['launch', 'launch: start tests'],
  ['results', 'results: deliver results'],
  ['bookings', 'bookings: book, move and cancel exams'],
  ['support', 'support: do the daily work for some accounts'],
  ['partner', 'partner: read and repeat the notifications of one’s own subscriptions'],
  ['admin', 'admin: do everything, for all accounts'],
];
