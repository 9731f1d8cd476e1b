import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import { useLive } from '../api/live';

const MOST_COUNTED = 10_000;

/** The lists of work, each with how many wait. */
export function WorkNav() {
  const { data } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/overview', { signal })),
  });
  useLive(['waiting', 'unmatched'], [['overview']]);
  return (
    <>
      <Link to="/work/approvals" search={{}}>
        Approvals{count(data?.approvals)}
      </Link>
      <Link to="/work/holds" search={{}}>
        Holds{count(data?.holds)}
      </Link>
      <Link to="/work/unmatched">Unmatched results{count(data?.unmatched_results)}</Link>
      <Link to="/work/imports" search={{}}>
        Imports
      </Link>
    </>
  );
}

function count(number: number | undefined): string {
  if (number === undefined) return '';
  return number >= MOST_COUNTED
    ? ` (${MOST_COUNTED.toLocaleString('en')} or more)`
    : ` (${number.toLocaleString('en')})`;
}
