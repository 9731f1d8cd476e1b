import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, dataOf } from '../api/client';
import { Badge } from '../components/badge';
import { Empty, Shown } from '../components/states';
import { Time } from '../components/time';
import { JobActions } from './job-actions';
import { JobProgress } from './job-progress';
import { isMoving, jobNote, kindText } from './job-text';

/** The latest jobs of all operators, so that two see what the other has begun. */
export function JobsNow() {
  const jobs = useQuery({
    queryKey: ['jobs', 'latest'],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/jobs', { params: { query: { limit: 5 } }, signal })),
    refetchInterval: ({ state }) => (state.data?.some(isMoving) ? 1500 : 20_000),
  });
  return (
    <Shown query={jobs}>
      {(found) =>
        found.length === 0 ? (
          <Empty>No job has been started yet.</Empty>
        ) : (
          <ul className="jobs">
            {found.map((job) => (
              <li key={job.job_id} className="panel">
                <p className="line">
                  <Link to="/jobs/$jobId" params={{ jobId: job.job_id }}>
                    {kindText(job.kind)}
                  </Link>
                  <Badge state={job.state} />
                  <span className="hint">
                    {job.actor}, <Time at={job.created_datetime} compact />
                  </span>
                </p>
                <p>{job.reason}</p>
                <JobProgress job={job} />
                <p className="hint">{jobNote(job)}</p>
                <div className="actions">
                  <JobActions job={job} small />
                </div>
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}
