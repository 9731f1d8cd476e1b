import type { Job } from './job-text';

/** Shows the progress of a job as a bar and in figures. */
export function JobProgress({ job }: { job: Job }) {
  const { matched, delivered, failed, skipped, resolved, waiting, sent } = job;
  const through = delivered + failed + skipped + resolved;
  const whole = Math.max(matched ?? 0, 1);
  const share = (count: number) => ({ width: `${(100 * count) / whole}%` });
  return (
    <div className="progress">
      <div
        className="progress-track"
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={whole}
        aria-valuenow={matched === null ? undefined : through}
        aria-valuetext={matched === null ? 'Counting …' : `${through} of ${matched}`}
      >
        <span className="good" style={share(delivered + resolved)} />
        <span className="bad" style={share(failed)} />
        <span className="quiet" style={share(skipped)} />
      </div>
      <p className="progress-legend hint">
        <span>{matched == null ? 'being counted' : `${matched.toLocaleString('en')} in total`}</span>
        {job.kind === 'RESOLVE' ? (
          <span>{resolved.toLocaleString('en')} resolved</span>
        ) : (
          <>
            <span>{sent.toLocaleString('en')} sent</span>
            <span>{delivered.toLocaleString('en')} delivered</span>
            <span>{failed.toLocaleString('en')} failed</span>
          </>
        )}
        <span>
          {waiting.toLocaleString('en')} {job.state === 'ABORTED' ? 'not processed' : 'waiting'}
        </span>
        {skipped > 0 && <span>{skipped.toLocaleString('en')} skipped</span>}
      </p>
    </div>
  );
}
