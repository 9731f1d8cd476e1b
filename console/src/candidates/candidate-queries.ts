import { queryOptions } from '@tanstack/react-query';
import { api, dataOf, pageOf, type Schemas } from '../api/client';
import { listQuery, type ListSource } from '../api/list-query';

export interface CandidatePath {
  account_code: string;
  candidate_id: string;
}

/** Builds all queries that a candidate's page needs. */
export function candidateQueries(path: CandidatePath) {
  const params = { path };
  return {
    records: queryOptions({
      queryKey: keyOf(path, 'records'),
      queryFn: ({ signal }) =>
        dataOf(api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}', { params, signal })),
    }),
    bookings: queryOptions({
      queryKey: keyOf(path, 'bookings'),
      queryFn: ({ signal }) =>
        dataOf(api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/bookings', { params, signal })),
    }),
    results: queryOptions({
      queryKey: keyOf(path, 'results'),
      queryFn: ({ signal }) =>
        dataOf(api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/results', { params, signal })),
    }),
    changes: queryOptions({
      queryKey: keyOf(path, 'changes'),
      queryFn: ({ signal }) =>
        dataOf(api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/changes', { params, signal })),
    }),
    notifications: listQuery(notificationsOf(path)),
  };
}

function notificationsOf(path: CandidatePath): ListSource<Schemas['NotificationModel']> {
  return {
    queryKey: keyOf(path, 'notifications'),
    load: (cursor, signal) =>
      pageOf(api.GET('/admin/notifications', { params: { query: { ...path, cursor, limit: 100 } }, signal })),
  };
}

export function auditOf(path: CandidatePath): ListSource<Schemas['AuditEntryModel']> {
  return {
    queryKey: keyOf(path, 'audit'),
    load: (cursor, signal) =>
      pageOf(
        api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/audit', {
          params: { path, query: { cursor, limit: 20 } },
          signal,
        }),
      ),
  };
}

function keyOf({ account_code: account, candidate_id: candidate }: CandidatePath, part: string) {
  return ['candidate', account, candidate, part];
}
