import { AccountNameInline } from '../components/account-name';
import { Isolated } from '../components/isolated';
import { conditionTexts, partnerOf, type Job } from './job-text';

/**
 * Describes in words which rows a job concerns. The text contains the name of the partner or account, and the
 * conditions of the filter.
 */
export function JobScope({ job }: { job: Job }) {
  const whose = whoseOf(job);
  const conditions = conditionTexts(job);
  return (
    <>
      {whose}
      {whose !== null && conditions.length > 0 && ' · '}
      <Isolated of={conditions} />
    </>
  );
}

function whoseOf(job: Job) {
  const partner = partnerOf(job);
  if (partner !== null) return <bdi>{partner}</bdi>;
  if (job.account_code !== null) return <AccountNameInline code={job.account_code} />;
  return job.kind === 'ERASE' ? null : 'All partners';
}
