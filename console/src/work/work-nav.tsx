import './work.css';
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import { useLive } from '../api/live';

const MOST_COUNTED = 10_000;

/** Shows links to the work lists, each with the number of items that wait for an operator. */
export function WorkNav() {
  const { data } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/overview', { signal })),
  });
  useLive(['waiting', 'unmatched'], [['overview']]);
  return (
    <>
      <Link to="/work/approvals" search={{}}>
        Approvals <Count of={data?.approvals} />
      </Link>
      <Link to="/work/holds" search={{}}>
        Holds <Count of={data?.holds} />
      </Link>
      <Link to="/work/unmatched">
        Unmatched results <Count of={data?.unmatched_results} />
      </Link>
      <Link to="/work/imports" search={{}}>
        Imports
      </Link>
    </>
  );
}

/**
 * Shows a number. Space for the number is reserved, so that neighbouring elements do not move when the number appears.
 */
function Count({ of }: { of: number | undefined }) {
  const text = of?.toLocaleString('en');
  return (
    <span className="nav-count">
      {of === undefined ? '\u00a0' : of >= MOST_COUNTED ? `(${text} or more)` : `(${text})`}
    </span>
  );
}
