import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => dataOf(api.GET('/admin/overview', { signal })),
});
