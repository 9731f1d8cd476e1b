import type { Option } from '../components/fields';

export const SCOPE_OPTIONS: readonly Option[] = [
  ['read', 'read: read records, results and the change feed'],
  ['create', 'create: create eligibilities and import files'],
  ['update', 'update: change eligibilities and vouchers'],
  ['delete', 'delete: cancel eligibilities'],
  ['launch', 'launch: start tests'],
  ['results', 'results: deliver results'],
  ['bookings', 'bookings: book, move and cancel exams'],
  ['support', 'support: perform daily support work for certain accounts'],
  ['partner', 'partner: read and resend the notifications of the assigned subscriptions'],
  ['admin', 'admin: full access to all accounts'],
];
