import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import { Empty, Shown } from '../components/states';
import { JobLines } from './job-lines';
import { isMoving } from './job-text';

/** Lists the latest jobs of all operators, so that each operator sees the jobs that other operators have started. */
export function JobsNow() {
  const jobs = useQuery({
    queryKey: ['jobs', 'latest'],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/jobs', { params: { query: { limit: 5 } }, signal })),
    refetchInterval: ({ state }) => (state.data?.some(isMoving) ? 1500 : 20_000),
  });
  return (
    <Shown query={jobs}>
      {(found) => (found.length === 0 ? <Empty>No job has been started yet.</Empty> : <JobLines jobs={found} />)}
    </Shown>
  );
}
