import './queue.css';
import { Link } from '@tanstack/react-router';
import { Badge } from '../components/badge';
import { HeldNote, useSteady } from '../components/steady';
import { Time } from '../components/time';
import { JobActions } from './job-actions';
import { JobProgress } from './job-progress';
import { JobScope } from './job-scope';
import { jobNote, kindText, type Job } from './job-text';

/** Lists a few jobs with their progress and their actions, regardless of the operator who started them. */
export function JobLines({ jobs }: { jobs: readonly Job[] }) {
  const { rows, gone, frame, held } = useSteady(jobs, idOf);
  return (
    <div ref={frame} tabIndex={-1}>
      <ul className="jobs">
        {rows.map((job) => (
          <li key={job.job_id} className={gone.has(job.job_id) ? 'panel gone' : 'panel'}>
            <p className="line">
              <Link to="/jobs/$jobId" params={{ jobId: job.job_id }}>
                {kindText(job.kind)}
              </Link>
              <Badge state={job.state} />
              <span className="hint">
                <bdi>{job.actor}</bdi>, <Time at={job.created_datetime} compact />
              </span>
            </p>
            <p>
              <JobScope job={job} />
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
      {held && <HeldNote held={held} />}
    </div>
  );
}

function idOf({ job_id: id }: Job): string {
  return id;
}
