import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Time } from '../components/time';
import { JobProgress } from '../queue/job-progress';
import { jobNote, kindText } from '../queue/job-text';

/** Jobs that have not ended, of all operators. */
export function JobsUnderWay({ jobs }: { jobs: readonly Schemas['JobModel'][] }) {
  return (
    <ul className="troubles">
      {jobs.map((job) => (
        <li key={job.job_id} className="panel">
          <p className="line">
            <Link to="/jobs/$jobId" params={{ jobId: job.job_id }}>
              {kindText(job.kind)}
            </Link>
            <Badge state={job.state} />
            <span className="hint">
              {job.actor}, <Time at={job.created_datetime} compact />: {job.reason}
            </span>
          </p>
          <JobProgress job={job} />
          <p className="hint">{jobNote(job)}</p>
        </li>
      ))}
    </ul>
  );
}
