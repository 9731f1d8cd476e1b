import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';

export const causesQuery = queryOptions({
  queryKey: ['error-queue', 'summary'],
  queryFn: ({ signal }) => dataOf(api.GET('/admin/error-queue/summary', { signal })),
});
